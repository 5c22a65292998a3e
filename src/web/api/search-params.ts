/** Parts of an address that most lists have; values of the wrong form are left out. */

const maxCharacters = 200

export function pageSearchParam(page: unknown): { page?: number } {
  return Number.isSafeInteger(page) && Number(page) > 1 ? { page: Number(page) } : {}
}

/** The router parses `q=12` as a number; people mean the text. */
export function textSearchParam<Name extends string>(name: Name, value: unknown): { [N in Name]?: string } {
  const text = typeof value === "number" || typeof value === "string" ? String(value).slice(0, maxCharacters) : ""
  return (text === "" ? {} : { [name]: text }) as { [N in Name]?: string }
}
