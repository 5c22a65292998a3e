import { bounds } from "#contract"

/** Memory for the links of one archive: for each name on their paths, and for names below it. */
const maxBytes = bounds.control.archiveLinkBytes.value
const nodeBytes = 120
const childrenBytes = 160

interface Node {
  isLink: boolean
  children: Map<string, Node> | undefined
}

/**
 * The links of an archive, as a tree of names: a path is looked up in the time that it takes to
 * read it.
 */
export class LinkNames {
  readonly #root: Node = { isLink: false, children: undefined }
  #bytes = 0

  /** False if there is no memory for more. */
  add(parts: readonly string[]): boolean {
    let node = this.#root
    for (const name of parts.map(foldFileName)) {
      let child = node.children?.get(name)
      if (!child) {
        this.#bytes += nodeBytes + 2 * name.length + (node.children ? 0 : childrenBytes)
        if (this.#bytes > maxBytes) return false
        node.children ??= new Map()
        child = { isLink: false, children: undefined }
        node.children.set(name, child)
      }
      node = child
    }
    node.isLink = true
    return true
  }

  /** Whether a name on the path, the last one included, is a link's. */
  leadsThrough(parts: readonly string[]): boolean {
    let node: Node | undefined = this.#root
    for (const part of parts) {
      node = node.children?.get(foldFileName(part))
      if (!node) return false
      if (node.isLink) return true
    }
    return false
  }
}

/**
 * File systems that ignore case, forms of accents, invisible characters, or dots and spaces at the
 * end, find a file under all names with the same result.
 */
export function foldFileName(name: string): string {
  if (/^[0-9_a-z-]+$/.test(name)) return name
  if (isAscii(name)) return withoutEnd(name.toLowerCase())
  return withoutEnd(visible(name).normalize("NFD").toUpperCase().toLowerCase().normalize("NFC"))
}

/**
 * Whether more accents follow each other than the Stream-Safe Text Format of Unicode allows:
 * normalization sorts them, in quadratic time.
 */
export function hasTooManyAccents(path: string): boolean {
  return !isAscii(path) && /\p{M}{31}/u.test(visible(path))
}

/** Without control characters, of which some are invisible. */
function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text)
}

function visible(name: string): string {
  return name.replace(/\p{Default_Ignorable_Code_Point}/gu, "")
}

/** An expression for the end of a text would begin at each of its dots. */
function withoutEnd(name: string): string {
  let length = name.length
  while (length > 0 && ". ".includes(name[length - 1] as string)) length -= 1
  return name.slice(0, length)
}
