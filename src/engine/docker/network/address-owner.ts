import { readFileSync } from "node:fs"

export interface AddressOwner {
  /** Of the container. */
  id: string
  /** Of its init; 0: not known yet. */
  pid: number | (() => number)
  host: string
}

/**
 * Whether containers still have the addresses that they were found at, by what the kernel says of
 * their processes: the daemon tells of an end later, and gives an address away by then.
 */
export class AddressOwners {
  /** False where the daemon lives in another process namespace, as far as is known. */
  #seesProcesses = false
  readonly #proc: string

  constructor(proc = "/proc") {
    this.#proc = proc
  }

  /** True also where no container's process was ever seen, and until this one's is known. */
  checkFor({ id, pid, host }: AddressOwner): () => boolean {
    let known = 0
    const holds = () => {
      known ||= typeof pid === "number" ? pid : pid()
      return this.#holds(id, known, host)
    }
    this.#seesProcesses ||= holds()
    return () => {
      const held = holds()
      return held || known === 0 || !this.#seesProcesses
    }
  }

  /**
   * A process with the same number can be another container's by now, be it one with the same
   * address.
   */
  #holds(id: string, pid: number, host: string): boolean {
    if (pid === 0) return false
    try {
      const [groups, addresses] = [`${this.#proc}/${pid}/cgroup`, `${this.#proc}/${pid}/net/fib_trie`].map((path) =>
        readFileSync(path, "latin1"),
      )
      return (groups?.includes(id) && addresses?.includes(`|-- ${host}\n`)) ?? false
    } catch {
      return false
    }
  }
}
