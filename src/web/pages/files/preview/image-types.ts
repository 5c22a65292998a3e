/** Images without script and without references. */
const imageTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
}

export const extensionOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1).toLowerCase()

/** The media type of an image by its name; undefined for other files. */
export function imageTypeOf(name: string): string | undefined {
  const extension = extensionOf(name)
  return Object.hasOwn(imageTypes, extension) ? imageTypes[extension] : undefined
}
