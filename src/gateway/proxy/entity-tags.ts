/**
 * Entity tags at an origin that other runs have later. A browser may still hold an answer of an
 * earlier run, and that run may have guessed the tag that this one's program gives to the same
 * path: "not modified" would then bring the old answer back. So each run's tags carry its mark
 * towards the browser, and conditions without it are not forwarded.
 */
export class RunEntityTags {
  readonly #mark: string

  constructor(key: string) {
    this.#mark = `${key.slice(0, 16)}-`
  }

  /** The `ETag` that the browser receives for one of the program. */
  mark(tag: string): string {
    return tag.replace(/^((?:W\/)?")/, `$1${this.#mark}`)
  }

  /** The condition that the program receives; undefined if it receives none. */
  condition(name: string, value: string): string | undefined {
    switch (name) {
      case "if-none-match":
        return this.#unmarked(value, false)
      case "if-match":
        return this.#unmarked(value, true)
      case "if-range":
        return this.isOurs(value) ? this.#unmarked(value, false) : undefined
      default:
        // A time does not show which run sent the response.
        return undefined
    }
  }

  isOurs(tag: string): boolean {
    return tag.startsWith(`"${this.#mark}`) || tag.startsWith(`W/"${this.#mark}`)
  }

  #unmarked(list: string, keepsOthers: boolean): string | undefined {
    if (list.trim() === "*") return list
    const tags: string[] = list.match(/(?:W\/)?"[^"]*"/g) ?? []
    const kept = keepsOthers ? tags : tags.filter((tag) => this.isOurs(tag))
    return kept.length === 0 ? undefined : kept.map((tag) => (this.isOurs(tag) ? tag.replace(this.#mark, "") : tag)).join(", ")
  }
}
