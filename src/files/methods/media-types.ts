import mime from "mime"

/**
 * Kinds that a browser shows; all others are saved. None of them can carry a script or refer to
 * anything else.
 */
const inlineTypes = new Set([
  "text/plain",
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
  "audio/mpeg",
  "audio/ogg",
  "audio/wav",
  "audio/mp4",
  "video/mp4",
  "video/webm",
  "video/ogg",
])

const typesByExtension: Readonly<Record<string, string>> = {
  ipynb: "application/x-ipynb+json",
  ts: "text/x-typescript",
  parquet: "application/vnd.apache.parquet",
}

/** The media type by the name's ending. */
export function mediaTypeOf(name: string): string {
  const dot = name.lastIndexOf(".")
  const ending = dot > 0 ? name.slice(dot + 1).toLowerCase() : ""
  return typesByExtension[ending] ?? mime.getType(ending) ?? "application/octet-stream"
}

export function contentHeaders(kind: string): { "Content-Type": string; "Content-Disposition"?: string } {
  const type = kind.startsWith("text/") ? `${kind}; charset=utf-8` : kind
  return inlineTypes.has(kind) ? { "Content-Type": type } : { "Content-Type": type, "Content-Disposition": "attachment" }
}
