import { imageTypeOf } from "./image-types.ts"

/**
 * The path of an image that a text in a directory names: relative, and inside of the directory.
 * Undefined for every other address.
 */
export function imagePath(directory: string, href: string): string | undefined {
  if (!imageTypeOf(href) || /^[a-z][a-z\d+.-]*:|^[/\\]|[?#]/i.test(href)) return undefined
  const names: string[] = []
  for (const part of href.split("/")) {
    const name = decoded(part)
    if (name === undefined || name.includes("/") || (name === ".." && names.length === 0)) return undefined
    if (name === "..") names.pop()
    else if (name !== "." && name !== "") names.push(name)
  }
  return [directory.replace(/\/$/, ""), ...names].join("/")
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
