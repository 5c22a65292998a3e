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
  groups: readonly { group: GroupRow; verb: "created" | "updated" }[]
}

/**
 * Finds or creates the account, then updates administration and groups from the claims. A subject
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
  const groups = await withGroups(tx, person, { userId: found.user.id, patterns: options.rules.groups })
  return { ...found, user: renewed, isChanged: renewed !== found.user, groups }
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

async function withGroups(tx: Change, { groups: names }: ProviderUser, about: { userId: number; patterns: readonly string[] }) {
  if (names === undefined) return []
  const { userId, patterns } = about
  const wanted = new Set(names.filter((name) => accountNameError(name) === undefined && matchesPattern(patterns, name)))
  const present = (await tx.groups.ofUser(userId)).filter(({ groupName }) => matchesPattern(patterns, groupName))
  const changes: ProvisionedAccount["groups"][number][] = []
  for (const group of present.filter(({ groupName }) => !wanted.has(groupName))) {
    await tx.groups.removeMember(group.id, userId)
    changes.push({ group, verb: "updated" })
  }
  for (const name of [...wanted].filter((each) => !present.some(({ groupName }) => groupName === each))) {
    const joined = await join(tx, name, userId)
    if (joined) changes.push(joined)
  }
  // The group's members have changed, so its version must change.
  for (const { group } of changes.filter(({ verb }) => verb === "updated")) await tx.groups.update(group.id, {})
  return changes
}

/** Undefined when a group of this name was deleted: names are never reused. */
async function join(tx: Change, groupName: string, userId: number): Promise<ProvisionedAccount["groups"][number] | undefined> {
  const stored = await tx.groups.byName(groupName)
  if (stored && stored.deletedAt !== null) return undefined
  const plain = { comment: "", limits: unsetLimits, totalLimits: unsetLimits }
  const group = stored ?? (await tx.groups.insert({ groupName, ...plain }))
  await tx.groups.addMember(group.id, userId)
  return { group, verb: stored ? "updated" : "created" }
}

function matchesPattern(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern))
}
