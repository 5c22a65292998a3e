const prefix = "quayside.recent-files."
const maxFiles = 8

export interface RecentFile {
  path: string
  /** When the person opened or uploaded it. */
  usedAt: string
}

/** The files that a person used last in this browser, the newest first. */
export class RecentFiles {
  readonly #storage: Pick<Storage, "getItem" | "setItem">
  readonly #key: string

  constructor(userName: string, storage: Pick<Storage, "getItem" | "setItem"> = localStorage) {
    this.#storage = storage
    this.#key = `${prefix}${userName}`
  }

  /** Empty if the stored text is not a list of them. */
  read(): RecentFile[] {
    try {
      const stored: unknown = JSON.parse(this.#storage.getItem(this.#key) ?? "[]")
      return Array.isArray(stored) ? stored.filter(isRecentFile).slice(0, maxFiles) : []
    } catch {
      return []
    }
  }

  add(paths: readonly string[], now = new Date()): void {
    const added = paths.slice(0, maxFiles)
    const usedAt = now.toISOString()
    const files = [...added.map((path) => ({ path, usedAt })), ...this.read().filter(({ path }) => !added.includes(path))]
    try {
      this.#storage.setItem(this.#key, JSON.stringify(files.slice(0, maxFiles)))
    } catch {
      // A browser that stores nothing shows no recent files.
    }
  }
}

/** Forgets the recent files of everybody who used this browser. */
export function forgetRecentFiles(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key)
}

function isRecentFile(value: unknown): value is RecentFile {
  const { path, usedAt } = (value ?? {}) as Partial<RecentFile>
  return typeof path === "string" && path.startsWith("/") && typeof usedAt === "string" && !Number.isNaN(Date.parse(usedAt))
}
