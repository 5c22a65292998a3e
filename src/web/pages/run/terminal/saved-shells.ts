const maxShells = 50

/**
 * The terminals that a browser's tab has open in a run, so that they return when it is reloaded.
 */
export class SavedShells {
  readonly #storage: Pick<Storage, "getItem" | "setItem">
  readonly #key: string

  constructor(storage: Pick<Storage, "getItem" | "setItem">, runId: number) {
    this.#storage = storage
    this.#key = `quayside.terminals.${runId}`
  }

  /** The sessions of the shells; empty if the stored text is not a list of them. */
  read(): string[] {
    try {
      const stored: unknown = JSON.parse(this.#storage.getItem(this.#key) ?? "[]")
      return Array.isArray(stored) ? stored.filter(isSession).slice(0, maxShells) : []
    } catch {
      return []
    }
  }

  write(sessions: readonly string[]): void {
    try {
      this.#storage.setItem(this.#key, JSON.stringify(sessions.slice(0, maxShells)))
    } catch {
      // A browser that stores nothing loses the terminals with a reload, and nothing else.
    }
  }
}

function isSession(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{32}$/.test(value)
}
