import { randomUUID } from "node:crypto"
import { bounds, Failure } from "#contract"
import { DavFailure } from "../failures.ts"
import { LockTree } from "./lock-tree.ts"

export interface Lock {
  /** `urn:uuid:…` */
  token: string
  /** Absolute below the root, not encoded. */
  path: string
  /** Whether the lock also binds everything below the path. */
  isDeep: boolean
  exclusive: boolean
  userId: number
  /** The `owner` element from the client's request, as XML; may be empty. */
  owner: string
  timeoutMs: number
  /** On the clock of `performance.now()`. */
  expiresAt: number
  /** When it ends, however often it is refreshed; on the same clock. */
  endsAt: number
}

export type LockRequest = Omit<Lock, "token" | "expiresAt" | "endsAt">

const maxPerPerson = bounds.files.locks.value
const maxSharedLocks = bounds.files.sharedLocks.value
export const maxLockMs = bounds.files.lockMs.value
const maxTotalMs = bounds.files.lockTotalMs.value

/** WebDAV write locks. They bind WebDAV clients only, and end with the process. */
export class LockTable {
  readonly #byPath = new LockTree<Lock>()
  /** By person, including expired ones: other people's locks do not slow `acquire` down. */
  readonly #byPerson = new Map<number, Set<Lock>>()

  /** Locks that bind this path: those on it, and deep ones above it. */
  locksBinding(path: string): Lock[] {
    return this.#byPath.upwards(path).filter((lock) => lock.isDeep || lock.path === path)
  }

  /** Locks that begin at this path, of any depth. */
  locksAt(path: string): Lock[] {
    return this.#byPath.at(path)
  }

  /** Locks that begin strictly below. */
  locksBelow(path: string): Lock[] {
    return this.#byPath.below(path)
  }

  /** Throws `locked` (423) when another lock conflicts. */
  acquire(wanted: LockRequest): Lock {
    const here = this.locksBinding(wanted.path)
    const rivals = [...here, ...(wanted.isDeep ? this.locksBelow(wanted.path) : [])]
    const rival = rivals.find(({ exclusive }) => exclusive || wanted.exclusive)
    if (rival) throw lockedFailure(rival, "no-conflicting-lock")
    if (here.length >= maxSharedLocks)
      throw new Failure("too_many_requests", `A file or directory may have at most ${maxSharedLocks} locks`)
    const own = this.#ownOf(wanted.userId)
    if (own.size >= maxPerPerson) throw new Failure("too_many_requests", `A person may have at most ${maxPerPerson} locks`)
    const now = performance.now()
    const lock = { ...wanted, token: `urn:uuid:${randomUUID()}`, expiresAt: now + wanted.timeoutMs, endsAt: now + maxTotalMs }
    this.#byPath.add(lock)
    this.#byPerson.set(lock.userId, own.add(lock))
    return lock
  }

  refresh(lock: Lock, timeoutMs: number): void {
    lock.timeoutMs = timeoutMs
    lock.expiresAt = Math.min(performance.now() + timeoutMs, lock.endsAt)
  }

  release(lock: Lock): void {
    this.#byPerson.get(lock.userId)?.delete(lock)
    this.#byPath.remove(lock)
  }

  /** Releases all locks on the entry and below it. */
  releaseTree(path: string): void {
    for (const lock of [...this.locksAt(path), ...this.locksBelow(path)]) this.release(lock)
  }

  /** A person's locks; releases the expired ones first. */
  #ownOf(userId: number): Set<Lock> {
    const own = this.#byPerson.get(userId) ?? new Set()
    const now = performance.now()
    for (const lock of own) if (lock.expiresAt <= now) this.release(lock)
    return own
  }
}

export function lockedFailure(lock: Lock, condition: "no-conflicting-lock" | "lock-token-submitted"): Failure {
  const href = encodeURI(lock.path).replace(/[?#&]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)
  return new DavFailure("locked", `${lock.path} is locked`, { condition: `<D:${condition}><D:href>${href}</D:href></D:${condition}>` })
}
