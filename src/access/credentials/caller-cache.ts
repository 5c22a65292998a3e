import { hash } from "node:crypto"
import { bounds } from "#contract"
import type { Clock } from "#kit"
import type { Reads, UserRow } from "#store"
import type { Caller, Proof, Scope } from "../caller.ts"
import { Generations } from "../two-generation-cache.ts"

/** A caller and the moment (milliseconds since the epoch) from which it must be read again. */
export interface Loaded {
  caller: Caller
  until: number
  token?: { id: number; notedAt: number }
}

const everyScope: readonly Scope[] = ["read", "write"]

export function sha256(text: string): string {
  return hash("sha256", text)
}

/** Identifies a password without telling it: another one after every change. */
function fingerprint(passwordHash: string): string {
  return sha256(passwordHash).slice(0, 32)
}

export function passwordProof(user: UserRow): Proof {
  return { kind: "password", id: `password:${user.passwordHash === null ? "" : fingerprint(user.passwordHash)}` }
}

type Ground = { scopes: readonly Scope[]; until: number; token?: { id: number; notedAt: number } }
type Readable = Pick<Reads, "users" | "groups" | "tokens" | "sessions">

/**
 * Who a proof belongs to now, from the rows; undefined when it has ended or its person is disabled
 * or deleted.
 */
export async function loadCaller(reads: Readable, userId: number, proofId: string, now: number): Promise<Loaded | undefined> {
  const proof: Proof = { kind: kindOf(proofId), id: proofId }
  const ground = await groundOf(reads, userId, proofId, now)
  if (!ground) return undefined
  // The person is read after the proof: who disables somebody ends their proofs in the same
  // transaction.
  const user = await reads.users.get(userId)
  if (!user || !isLivePerson(user) || !passwordStands(proofId, user)) return undefined
  const groups = await reads.groups.ofUser(userId)
  const caller: Caller = {
    userId,
    userName: user.userName,
    isAdmin: user.isAdmin,
    groupIds: groups.map((group) => group.id),
    groupNames: groups.map((group) => group.groupName),
    scopes: ground.scopes,
    proof,
  }
  return { caller, until: ground.until, ...(ground.token ? { token: ground.token } : {}) }
}

export function isLivePerson(user: UserRow): boolean {
  return user.deletedAt === null && !user.isDisabled
}

function kindOf(proofId: string): Proof["kind"] {
  const kind = proofId.slice(0, proofId.indexOf(":"))
  return kind === "token" || kind === "session" || kind === "files" ? kind : "password"
}

async function groundOf(reads: Readable, userId: number, proofId: string, now: number): Promise<Ground | undefined> {
  const rest = proofId.slice(proofId.indexOf(":") + 1)
  switch (kindOf(proofId)) {
    case "password":
      return { scopes: everyScope, until: Number.POSITIVE_INFINITY }
    case "token":
      return tokenGround(reads, userId, Number(rest), now)
    case "session": {
      const row = await reads.sessions.byHash(rest)
      return row?.userId === userId && row.expiresAt > now ? { scopes: everyScope, until: row.expiresAt } : undefined
    }
    case "files": {
      const [expires = "", origin = ""] = splitOnce(rest)
      if (!(Number(expires) > now)) return undefined
      const ground = await groundOf(reads, userId, origin, now)
      return ground && { scopes: ground.scopes, until: Math.min(ground.until, Number(expires)) }
    }
  }
}

async function tokenGround(reads: Readable, userId: number, id: number, now: number): Promise<Ground | undefined> {
  const row = await reads.tokens.get(id)
  if (row?.userId !== userId || (row.expiresAt !== null && row.expiresAt <= now)) return undefined
  return {
    scopes: row.scopes as Scope[],
    until: row.expiresAt ?? Number.POSITIVE_INFINITY,
    token: { id, notedAt: row.lastUsedAt ?? 0 },
  }
}

/** A password's proof, or a files token made by one, ends with that password. */
function passwordStands(proofId: string, user: UserRow): boolean {
  const origin = proofId.startsWith("files:") ? (splitOnce(proofId.slice("files:".length))[1] ?? "") : proofId
  return kindOf(origin) !== "password" || origin === passwordProof(user).id
}

function splitOnce(text: string): string[] {
  const at = text.indexOf(":")
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

/** Callers by key, kept until they expire or are forgotten, and never longer than `freshMs`. */
export class Callers {
  readonly #clock: Clock
  readonly #freshMs: number
  readonly #kept = new Generations<Loaded>(bounds.accounts.rememberedProofs.value)
  #forgettings = 0

  constructor(clock: Clock, freshMs: number) {
    this.#clock = clock
    this.#freshMs = freshMs
  }

  get(key: string): Loaded | undefined {
    const kept = this.#kept.get(key)
    return kept !== undefined && kept.until > this.#clock.now() ? kept : undefined
  }

  /** Loads and keeps; what was read before a forgetting is answered but not kept. */
  async load(key: string, read: () => Promise<Loaded | undefined>, keepMs = this.#freshMs): Promise<Loaded | undefined> {
    const before = this.#forgettings
    const loaded = await read()
    if (!loaded) return undefined
    const kept = { ...loaded, until: Math.min(loaded.until, this.#clock.now() + Math.min(keepMs, this.#freshMs)) }
    if (before === this.#forgettings) this.#kept.set(key, kept)
    return kept
  }

  forget(userIds: ReadonlySet<number>): void {
    this.#forgettings += 1
    this.#kept.deleteWhere((kept) => userIds.has(kept.caller.userId))
  }

  forgetAll(): void {
    this.#forgettings += 1
    this.#kept.clear()
  }
}
