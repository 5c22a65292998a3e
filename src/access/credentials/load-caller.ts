import { hash } from "node:crypto"
import type { Reads, UserRow } from "#store"
import type { Caller, Credential, Scope } from "../caller.ts"
import type { UsedCredential } from "./credential-usage.ts"

/** A caller and the moment (milliseconds since the epoch) from which it must be read again. */
export interface LoadedCaller {
  caller: Caller
  validUntil: number
  used?: UsedCredential
}

const everyScope: readonly Scope[] = ["read", "write"]

export function sha256(text: string): string {
  return hash("sha256", text)
}

/** Identifies a password without revealing it. It changes with the password. */
function fingerprint(passwordHash: string): string {
  return sha256(passwordHash).slice(0, 32)
}

export function passwordCredential(user: UserRow): Credential {
  return { kind: "password", id: `password:${user.passwordHash === null ? "" : fingerprint(user.passwordHash)}` }
}

type LiveCredential = { scopes: readonly Scope[]; until: number; used?: UsedCredential }
type CallerReads = Pick<Reads, "users" | "groups" | "tokens" | "sessions">

/**
 * Reads the caller of a credential from the database; undefined when the credential has ended, or
 * its person is disabled or deleted.
 */
export async function loadCaller(reads: CallerReads, userId: number, credentialId: string, now: number): Promise<LoadedCaller | undefined> {
  const credential: Credential = { kind: kindOf(credentialId), id: credentialId }
  const live = await loadCredential(reads, userId, credentialId, now)
  if (!live) return undefined
  // The person is read after the credential: disabling a person ends their credentials in the same
  // transaction.
  const user = await reads.users.get(userId)
  if (!user || !isActiveUser(user) || !isPasswordCurrent(credentialId, user)) return undefined
  const groups = await reads.groups.ofUser(userId)
  const caller: Caller = {
    userId,
    userName: user.userName,
    isAdmin: user.isAdmin,
    groupIds: groups.map((group) => group.id),
    groupNames: groups.map((group) => group.groupName),
    scopes: live.scopes,
    credential,
  }
  return { caller, validUntil: live.until, ...(live.used ? { used: live.used } : {}) }
}

export function isActiveUser(user: UserRow): boolean {
  return user.deletedAt === null && !user.isDisabled
}

function kindOf(credentialId: string): Credential["kind"] {
  const kind = credentialId.slice(0, credentialId.indexOf(":"))
  return kind === "token" || kind === "session" || kind === "files" ? kind : "password"
}

async function loadCredential(reads: CallerReads, userId: number, credentialId: string, now: number): Promise<LiveCredential | undefined> {
  const rest = credentialId.slice(credentialId.indexOf(":") + 1)
  switch (kindOf(credentialId)) {
    case "password":
      return { scopes: everyScope, until: Number.POSITIVE_INFINITY }
    case "token":
      return loadToken(reads, userId, Number(rest), now)
    case "session": {
      const row = await reads.sessions.byHash(rest)
      if (row?.userId !== userId || row.expiresAt <= now) return undefined
      return { scopes: everyScope, until: row.expiresAt, used: { kind: "session", id: row.id, recordedAt: row.lastUsedAt ?? 0 } }
    }
    case "files": {
      const [expires = "", origin = ""] = splitOnce(rest)
      if (!(Number(expires) > now)) return undefined
      const live = await loadCredential(reads, userId, origin, now)
      return live && { scopes: live.scopes, until: Math.min(live.until, Number(expires)) }
    }
  }
}

async function loadToken(reads: CallerReads, userId: number, id: number, now: number): Promise<LiveCredential | undefined> {
  const row = await reads.tokens.get(id)
  if (row?.userId !== userId || (row.expiresAt !== null && row.expiresAt <= now)) return undefined
  return {
    scopes: row.scopes as Scope[],
    until: row.expiresAt ?? Number.POSITIVE_INFINITY,
    used: { kind: "token", id, recordedAt: row.lastUsedAt ?? 0 },
  }
}

/** A password credential, or a files token created with one, ends with that password. */
function isPasswordCurrent(credentialId: string, user: UserRow): boolean {
  const origin = credentialId.startsWith("files:") ? (splitOnce(credentialId.slice("files:".length))[1] ?? "") : credentialId
  return kindOf(origin) !== "password" || origin === passwordCredential(user).id
}

function splitOnce(text: string): string[] {
  const at = text.indexOf(":")
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
