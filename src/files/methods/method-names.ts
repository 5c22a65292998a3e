/** Every method of the files address. */
export const methodNames = [
  "OPTIONS",
  "GET",
  "HEAD",
  "PUT",
  "DELETE",
  "MKCOL",
  "PROPFIND",
  "PROPPATCH",
  "COPY",
  "MOVE",
  "LOCK",
  "UNLOCK",
] as const
export type MethodName = (typeof methodNames)[number]

const fileMethods = new Set<MethodName>(["GET", "HEAD", "PUT"])

/**
 * For `Allow` where the method does not go with what is there: a directory is neither read nor
 * written as a whole, and what is there is not made again.
 */
export function allowHeaderFor(kind: "file" | "directory"): { Allow: string } {
  return { Allow: methodNames.filter((name) => name !== "MKCOL" && (kind === "file" || !fileMethods.has(name))).join(", ") }
}

const readMethods: ReadonlySet<string> = new Set<MethodName>(["OPTIONS", "GET", "HEAD", "PROPFIND"])

/** Whether the method changes nothing. */
export const isReadMethod = (method: string | undefined): boolean => readMethods.has(method ?? "")
