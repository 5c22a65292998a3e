import { bounds } from "#contract"
import type { Upstream, UpstreamConnection } from "./connection.ts"

const maxOfRun = bounds.gateway.idleConnections.value
const maxOfPerson = bounds.gateway.idleConnectionsPerPerson.value

/** The idle connections of all runs and people, those that became idle first in front. */
export class IdleConnections {
  readonly #ofRun = new Map<string, Set<UpstreamConnection>>()
  readonly #ofPerson = new Map<number, Set<UpstreamConnection>>()

  /** Keeps a connection. Closes the run's and the person's oldest one beyond the maximum. */
  add(connection: UpstreamConnection): void {
    const { key, visitor } = connection.upstream
    this.#closeBeyond(maxOfRun, groupOf(this.#ofRun, key).add(connection))
    // The first step may have removed the person's group, since it was empty.
    this.#closeBeyond(maxOfPerson, groupOf(this.#ofPerson, visitor.userId).add(connection))
  }

  #closeBeyond(max: number, group: ReadonlySet<UpstreamConnection>): void {
    const [oldest] = group
    if (group.size > max && oldest) this.close([oldest])
  }

  delete(connection: UpstreamConnection): void {
    const { key, visitor } = connection.upstream
    remove(this.#ofRun, key, connection)
    remove(this.#ofPerson, visitor.userId, connection)
  }

  close(connections: readonly UpstreamConnection[]): void {
    for (const connection of connections) {
      this.delete(connection)
      connection.destroy()
    }
  }

  /**
   * The connection of a run that became idle last, of this visitor's credential: a program may
   * answer late, or know a connection by its first request, and so answer one visitor with what
   * belongs to another.
   */
  latestFor({ key, visitor }: Upstream): UpstreamConnection | undefined {
    return this.ofRun(key).findLast(
      ({ upstream: { visitor: owner } }) => owner.userId === visitor.userId && owner.credentialId === visitor.credentialId,
    )
  }

  ofRun(key: string): UpstreamConnection[] {
    return [...(this.#ofRun.get(key) ?? [])]
  }

  /** Those that have been idle for longer than their programs allow. */
  expired(now: number): UpstreamConnection[] {
    return [...this.#ofRun.values()].flatMap((group) => [...group].filter(({ idleAt, maxIdleMs }) => now - idleAt >= maxIdleMs))
  }
}

function groupOf<Key>(groups: Map<Key, Set<UpstreamConnection>>, key: Key): Set<UpstreamConnection> {
  const group = groups.get(key) ?? new Set()
  groups.set(key, group)
  return group
}

function remove<Key>(groups: Map<Key, Set<UpstreamConnection>>, key: Key, connection: UpstreamConnection): void {
  const group = groups.get(key)
  group?.delete(connection)
  if (group?.size === 0) groups.delete(key)
}
