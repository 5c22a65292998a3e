/** Every method of the files address. */
export const methodNames = [
  "OPTIONS",
  "GET",
  "HEAD",
  "PUT",
  "POST",
  "PATCH",
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

const fileMethods = new Set<MethodName>(["GET", "HEAD", "PUT", "POST"])
/** MKCOL needs a name that is free, and PATCH the address of an upload. */
const methodsElsewhere = new Set<MethodName>(["MKCOL", "PATCH"])

/**
 * The `Allow` header for an existing file or directory. Directories are neither read nor written as
 * a whole.
 */
export function allowHeaderFor(kind: "file" | "directory"): { Allow: string } {
  return { Allow: methodNames.filter((name) => !methodsElsewhere.has(name) && (kind === "file" || !fileMethods.has(name))).join(", ") }
}

const readMethods: ReadonlySet<string> = new Set<MethodName>(["OPTIONS", "GET", "HEAD", "PROPFIND"])

/** Whether the method changes nothing. */
export const isReadMethod = (method: string | undefined): boolean => readMethods.has(method ?? "")
