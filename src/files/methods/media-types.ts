import mime from "mime"

/**
 * Types that a browser displays; it saves all others. None of these can contain a script or refer
 * to other resources.
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

/** The media type by the name's extension. */
export function mediaTypeOf(name: string): string {
  const dot = name.lastIndexOf(".")
  const extension = dot > 0 ? name.slice(dot + 1).toLowerCase() : ""
  return typesByExtension[extension] ?? mime.getType(extension) ?? "application/octet-stream"
}

export function contentHeaders(mediaType: string): { "Content-Type": string; "Content-Disposition"?: string } {
  const type = mediaType.startsWith("text/") ? `${mediaType}; charset=utf-8` : mediaType
  return inlineTypes.has(mediaType) ? { "Content-Type": type } : { "Content-Type": type, "Content-Disposition": "attachment" }
}
