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

const reading: ReadonlySet<string> = new Set<MethodName>(["OPTIONS", "GET", "HEAD", "PROPFIND"])

/** Whether the method changes nothing. */
export const isReading = (method: string | undefined): boolean => reading.has(method ?? "")
