import { accountNameError, Failure, unsetLimits } from "#contract"
import type { Change, GroupRow, Reads, UserRow } from "#store"
import type { Accounts } from "../accounts/accounts.ts"
import { AuthenticationFailure } from "../caller.ts"
import { checkProviderUserName, type ProviderUser } from "./claims.ts"

/** The administrator's rules for people who sign in by OpenID. */
export interface ProvisioningRules {
  /** Whether a person without an account gets one. */
  unknown: "refuse" | "create"
  /**
   * Existing accounts of the same name that may be linked, if no subject of this provider has them
   * yet.
   */
  link: "never" | "no-password" | "all"
  /** Groups whose members the provider decides: names, or prefixes with `*` at the end. */
  groups: readonly string[]
}

/** The account of a person who signed in, and the changes that the sign-in made. */
export interface ProvisionedAccount {
  user: UserRow
  account: "known" | "linked" | "created"
  /** Whether the account itself was changed. */
  isChanged: boolean
}

/** A group that a person who signed in leaves, or the name of one that they join. */
export type Membership = { leave: GroupRow } | { join: string }

/** A group whose members a sign-in changed. */
export interface ProvisionedGroup {
  group: GroupRow
  verb: "created" | "updated"
}

/**
 * Finds or creates the account, then updates administration from the claims. A subject
 * has its account for ever, even if its claims change. An account of the same name belongs to
 * another person unless the rules allow linking. Throws an `AuthenticationFailure` (403).
 */
export async function provisionAccount(
  tx: Change,
  person: ProviderUser,
  options: { accounts: Accounts; rules: ProvisioningRules },
): Promise<ProvisionedAccount> {
  const found = (await known(tx, person)) ?? (await linked(tx, person, options.rules)) ?? (await created(tx, person, options))
  if (found.user.deletedAt !== null || found.user.isDisabled) {
    throw new AuthenticationFailure("forbidden", `The account with the user name ${found.user.userName} is disabled`)
  }
  const renewed = await withAdministration(tx, person, { user: found.user, accounts: options.accounts })
  return { ...found, user: renewed, isChanged: renewed !== found.user }
}

/** Whether `provisionAccount` would create an account. No other account gets its name meanwhile. */
export async function createsAccount(
  reads: Pick<Reads, "subjects" | "users">,
  person: ProviderUser,
  { unknown }: ProvisioningRules,
): Promise<boolean> {
  if (unknown === "refuse" || accountNameError(person.userName) !== undefined) return false
  return (await known(reads, person)) === undefined && (await reads.users.byName(person.userName)) === undefined
}

type Found = Pick<ProvisionedAccount, "user" | "account">

async function known(reads: Pick<Reads, "subjects" | "users">, { issuer, subject }: ProviderUser): Promise<Found | undefined> {
  const id = await reads.subjects.userOf(issuer, subject)
  const user = id === undefined ? undefined : await reads.users.get(id)
  return user && { user, account: "known" }
}

async function linked(tx: Change, person: ProviderUser, { link }: ProvisioningRules): Promise<Found | undefined> {
  checkProviderUserName(person)
  const user = await tx.users.byName(person.userName)
  if (!user) return undefined
  const isTaken = user.deletedAt !== null || (await tx.subjects.ofUser(user.id)).some(({ issuer }) => issuer === person.issuer)
  const isOpen = link === "all" || (link === "no-password" && user.passwordHash === null)
  if (isTaken || !isOpen) {
    throw new AuthenticationFailure("forbidden", `The user name ${user.userName} belongs to another account here; ask an administrator`)
  }
  await tx.subjects.insert({ issuer: person.issuer, subject: person.subject, userId: user.id })
  return { user, account: "linked" }
}

async function created(
  tx: Change,
  person: ProviderUser,
  { accounts, rules }: { accounts: Accounts; rules: ProvisioningRules },
): Promise<Found> {
  const { issuer, subject, userName, email } = person
  if (rules.unknown === "refuse") {
    throw new AuthenticationFailure("forbidden", `There is no account with the user name ${userName}; an administrator can create one`)
  }
  const plain = { comment: "", isAdmin: false, isDisabled: false, limits: unsetLimits }
  const user = await accounts.create(tx, { userName, passwordHash: null, email, ...plain })
  await tx.subjects.insert({ issuer, subject, userId: user.id })
  return { user, account: "created" }
}

/** The last administrator remains one, even if the provider says otherwise. */
async function withAdministration(tx: Change, { isAdmin }: ProviderUser, about: { user: UserRow; accounts: Accounts }): Promise<UserRow> {
  const { user, accounts } = about
  if (isAdmin === undefined || isAdmin === user.isAdmin) return user
  try {
    return await accounts.update(tx, user.id, { isAdmin })
  } catch (error) {
    if (error instanceof Failure && error.code === "conflict") return user
    throw error
  }
}

/** The memberships to change by the claims: those that end first. */
export async function changedMemberships(
  reads: Pick<Reads, "groups">,
  { groups: names }: ProviderUser,
  { userId, patterns }: { userId: number; patterns: readonly string[] },
): Promise<Membership[]> {
  if (names === undefined) return []
  const wanted = new Set(names.filter((name) => accountNameError(name) === undefined && matchesPattern(patterns, name)))
  const present = (await reads.groups.ofUser(userId)).filter(({ groupName }) => matchesPattern(patterns, groupName))
  const left = present.filter(({ groupName }) => !wanted.has(groupName))
  const joined = [...wanted].filter((name) => !present.some(({ groupName }) => groupName === name))
  return [...left.map((leave) => ({ leave })), ...joined.map((join) => ({ join }))]
}

/**
 * Undefined if nothing changes, since person or group were deleted meanwhile. The group's members
 * have changed, so its version does.
 */
export async function changeMembership(tx: Change, userId: number, change: Membership): Promise<ProvisionedGroup | undefined> {
  const user = await tx.users.get(userId)
  if (!user || user.deletedAt !== null) return undefined
  if ("join" in change) return join(tx, change.join, userId)
  const group = await tx.groups.get(change.leave.id)
  if (!group || group.deletedAt !== null) return undefined
  await tx.groups.removeMember(group.id, userId)
  await tx.groups.update(group.id, {})
  return { group, verb: "updated" }
}

/** Undefined when a group of this name was deleted: names are never reused. */
async function join(tx: Change, groupName: string, userId: number): Promise<ProvisionedGroup | undefined> {
  const stored = await tx.groups.byName(groupName)
  if (stored && stored.deletedAt !== null) return undefined
  const plain = { comment: "", limits: unsetLimits, totalLimits: unsetLimits }
  const group = stored ?? (await tx.groups.insert({ groupName, ...plain }))
  await tx.groups.addMember(group.id, userId)
  if (stored) await tx.groups.update(group.id, {})
  return { group, verb: stored ? "updated" : "created" }
}

function matchesPattern(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern))
}
