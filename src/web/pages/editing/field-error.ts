import { errorText } from "../../api/error-text.ts"

/** The refusal of an attempt as a field shows it, if it names one of these. */
export function fieldError(error: unknown, ...names: string[]): { error?: string } {
  if (!error) return {}
  const { title, field } = errorText(error)
  return field !== undefined && names.includes(field) ? { error: title } : {}
}
