import { notFound } from "@tanstack/react-router"

/** The parameter `$id` of an address, as a number. */
export const idParam = {
  parse: ({ id }: { id: string }) => ({ id: parseId(id) }),
  stringify: ({ id }: { id: number }) => ({ id: String(id) }),
}

/** An ID as the API makes them; any other word leads to the page of unknown addresses. */
export function parseId(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id)) throw notFound()
  return id
}
