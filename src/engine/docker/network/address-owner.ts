import { readFileSync } from "node:fs"

export interface AddressOwner {
  /** The container's ID. */
  id: string
  /** The process ID of its init; 0: still unknown. */
  pid: number | (() => number)
  host: string
}

/**
 * Checks whether containers still have their addresses, by the kernel's data on their processes.
 * The daemon reports an exit later, and may have reused the address by then.
 */
export class AddressOwnership {
  /** False if the daemon lives in another process namespace, as far as is known. */
  #processesVisible = false
  readonly #proc: string

  constructor(proc = "/proc") {
    this.#proc = proc
  }

  /**
   * Returns a check of one container's address. It is true if no container's process was ever
   * visible, or this one's is still unknown.
   */
  checkFor({ id, pid, host }: AddressOwner): () => boolean {
    let known = 0
    const hasAddress = () => {
      known ||= typeof pid === "number" ? pid : pid()
      return this.#hasAddress(id, known, host)
    }
    this.#processesVisible ||= hasAddress()
    return () => {
      const isOwner = hasAddress()
      return isOwner || known === 0 || !this.#processesVisible
    }
  }

  /** The process ID may belong to another container by now, even to one with the same address. */
  #hasAddress(id: string, pid: number, host: string): boolean {
    if (pid === 0) return false
    try {
      const [cgroups, addresses] = [`${this.#proc}/${pid}/cgroup`, `${this.#proc}/${pid}/net/fib_trie`].map((path) =>
        readFileSync(path, "latin1"),
      )
      return (cgroups?.includes(id) && addresses?.includes(`|-- ${host}\n`)) ?? false
    } catch {
      return false
    }
  }
}
