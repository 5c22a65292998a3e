/** Whether the server answers, and whether it still knows this browser's session. */
export interface ConnectionState {
  readonly isUnreachable: boolean
  readonly isExpired: boolean
}

type Listener = () => void

/** The state of the connection, for `useSyncExternalStore`. */
class Connection {
  #state: ConnectionState = { isUnreachable: false, isExpired: false }
  readonly #listeners = new Set<Listener>()

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly get = (): ConnectionState => this.#state

  setUnreachable(isUnreachable: boolean): void {
    this.#set({ ...this.#state, isUnreachable })
  }

  setExpired(isExpired: boolean): void {
    this.#set({ ...this.#state, isExpired })
  }

  #set(next: ConnectionState): void {
    if (next.isUnreachable === this.#state.isUnreachable && next.isExpired === this.#state.isExpired) return
    this.#state = next
    for (const listener of this.#listeners) listener()
  }
}

export const connection = new Connection()
