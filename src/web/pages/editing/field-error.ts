import { errorText } from "../../api/error-text.ts"

/**
 * The refusal of an attempt as a field shows it, if it names one of these. The label of the field
 * stands in the place of its name in the API.
 */
export function fieldError(error: unknown, ...names: string[]): { error?: string } {
  if (!error) return {}
  const { title, field } = errorText(error)
  if (field === undefined || !names.includes(field)) return {}
  const name = [`${field} `, `\`${field}\` `].find((beginning) => title.startsWith(beginning))
  return { error: name === undefined ? title : `This ${title.slice(name.length)}` }
}
