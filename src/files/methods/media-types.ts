import mime from "mime"

/**
 * Kinds that a browser shows; all others are saved. None of them can carry a script or refer to
 * anything else.
 */
const shown = new Set([
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

const own: Readonly<Record<string, string>> = {
  ipynb: "application/x-ipynb+json",
  ts: "text/x-typescript",
  parquet: "application/vnd.apache.parquet",
}

/** The media type by the name's ending. */
export function kindOf(name: string): string {
  const dot = name.lastIndexOf(".")
  const ending = dot > 0 ? name.slice(dot + 1).toLowerCase() : ""
  return own[ending] ?? mime.getType(ending) ?? "application/octet-stream"
}

export function headersOf(kind: string): { "Content-Type": string; "Content-Disposition"?: string } {
  const type = kind.startsWith("text/") ? `${kind}; charset=utf-8` : kind
  return shown.has(kind) ? { "Content-Type": type } : { "Content-Type": type, "Content-Disposition": "attachment" }
}
