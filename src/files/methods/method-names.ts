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
 * The `Allow` header for an existing file or directory. Directories are neither read nor written as
 * a whole, and MKCOL needs a name that is free.
 */
export function allowHeaderFor(kind: "file" | "directory"): { Allow: string } {
  return { Allow: methodNames.filter((name) => name !== "MKCOL" && (kind === "file" || !fileMethods.has(name))).join(", ") }
}

const readMethods: ReadonlySet<string> = new Set<MethodName>(["OPTIONS", "GET", "HEAD", "PROPFIND"])

/** Whether the method changes nothing. */
export const isReadMethod = (method: string | undefined): boolean => readMethods.has(method ?? "")
