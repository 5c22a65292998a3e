import type { Client } from "#client"
import { type AuditEntry, type Group, limitNames, type User } from "#contract"
import type { Cli } from "../io/cli.ts"
import { type MemoryUnit, parseCount, parseMemory, parseTime, usageError } from "../io/formats.ts"
import { confirm, readSecret } from "../io/input.ts"
import { formatFields, formatTable } from "../io/table.ts"
import { connect } from "../session/connection.ts"
import { findGroup, findUser, readAllPages } from "../session/names.ts"

const pageSize = 200

export async function listUsers(cli: Cli): Promise<undefined> {
  const { client } = await connect(cli)
  const users = await readAllPages((page) => client.listUsers({ query: { page, pageSize } }))
  cli.show(users, () =>
    formatTable<User>(users, {
      id: (each) => String(each.ID),
      name: (each) => each.UserName,
      email: (each) => each.Email,
      admin: (each) => (each.IsAdmin ? "yes" : ""),
      disabled: (each) => (each.IsDisabled ? "yes" : ""),
      comment: (each) => each.Comment,
    }),
  )
  return undefined
}

export async function showUser(cli: Cli, name: string): Promise<undefined> {
  const { client } = await connect(cli)
  const user = await findUser(client, name)
  cli.show(user, () => formatFields(user))
  return undefined
}

interface UserOptions {
  email?: string
  comment?: string
  admin?: boolean
  disabled?: boolean
  passwordStdin?: boolean
  limit?: string[]
}

export async function createUser(cli: Cli, UserName: string, options: UserOptions): Promise<undefined> {
  const { client } = await connect(cli)
  const user = await client.createUser({ body: { UserName, ...(await userFields(cli, client, options)) } })
  cli.show(user, () => `Created ${user.UserName} (${user.ID}).`)
  if (!options.passwordStdin) cli.note("The account has no password: --password-stdin sets one.")
  return undefined
}

export async function editUser(cli: Cli, name: string, options: UserOptions): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID, Limits } = await findUser(client, name)
  const fields = await userFields(cli, client, options)
  const limits = fields.Limits ? { Limits: { ...Limits, ...fields.Limits } } : {}
  const user = await client.updateUser({ body: { ID, ...fields, ...limits } })
  cli.show(user, () => `Changed ${user.UserName}.`)
  return undefined
}

async function userFields(cli: Cli, client: Client, options: UserOptions): Promise<{ Limits?: object }> {
  const { email, comment, admin, disabled, limit } = options
  return {
    ...(email === undefined ? {} : { Email: email }),
    ...(comment === undefined ? {} : { Comment: comment }),
    ...(admin === undefined ? {} : { IsAdmin: admin }),
    ...(disabled === undefined ? {} : { IsDisabled: disabled }),
    ...(limit === undefined ? {} : { Limits: parseLimits(limit, (await client.whoami()).MemoryUnit) }),
    ...(options.passwordStdin ? { Password: await readSecret(cli, "--password-stdin") } : {}),
  }
}

const inMemoryUnit: readonly string[] = ["MaxMemory", "MaxDisk", "MaxStorage"]

export function parseLimits(texts: readonly string[], unit: MemoryUnit): Record<string, number | null> {
  const pairs = texts.map((text): [string, number | null] => {
    const [name = "", amount = ""] = text.split("=")
    if (!(limitNames as readonly string[]).includes(name))
      throw usageError(`--limit must name one of ${limitNames.join(", ")}; got ${JSON.stringify(text)}`)
    if (amount === "none") return [name, null]
    return [name, inMemoryUnit.includes(name) ? parseMemory(amount, unit, `--limit ${name}`) : parseCount(amount, `--limit ${name}`)]
  })
  return Object.fromEntries(pairs)
}

export async function removeUser(cli: Cli, name: string, options: { yes?: boolean }): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID, UserName } = await findUser(client, name)
  await confirm(cli, `Delete the account ${UserName} and stop its runs? The name is never given again.`, options)
  await client.deleteUser({ query: { ID } })
  cli.show({ ID }, () => `Deleted ${UserName}.`)
  return undefined
}

export async function listGroups(cli: Cli): Promise<undefined> {
  const { client } = await connect(cli)
  const groups = await readAllPages((page) => client.listGroups({ query: { page, pageSize } }))
  cli.show(groups, () =>
    formatTable<Group>(groups, {
      id: (each) => String(each.ID),
      name: (each) => each.GroupName,
      members: (each) => each.Members.join(", "),
      comment: (each) => each.Comment,
    }),
  )
  return undefined
}

export async function showGroup(cli: Cli, name: string): Promise<undefined> {
  const { client } = await connect(cli)
  const group = await findGroup(client, name)
  cli.show(group, () => formatFields(group))
  return undefined
}

export async function createGroup(cli: Cli, GroupName: string, Members: string[], { comment }: { comment?: string }): Promise<undefined> {
  const { client } = await connect(cli)
  const group = await client.createGroup({ body: { GroupName, Members, ...(comment === undefined ? {} : { Comment: comment }) } })
  cli.show(group, () => `Created ${group.GroupName} (${group.ID}).`)
  return undefined
}

export function addMembers(cli: Cli, name: string, members: readonly string[]): Promise<undefined> {
  return changeMembers(cli, name, (present) => [...new Set([...present, ...members])])
}

export function removeMembers(cli: Cli, name: string, members: readonly string[]): Promise<undefined> {
  return changeMembers(cli, name, (present) => present.filter((each) => !members.includes(each)))
}

/** The tag of what was read makes the server refuse the change if somebody else was faster. */
async function changeMembers(cli: Cli, name: string, change: (members: readonly string[]) => string[]): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID } = await findGroup(client, name)
  let tag: string | null = null
  const { Members } = await client.readGroup({ query: { ID }, onHeaders: (headers) => (tag = headers.get("etag")) })
  const group = await client.updateGroup({ body: { ID, Members: change(Members) }, headers: tag === null ? {} : { "if-match": tag } })
  cli.show(group, () => `${group.GroupName}: ${group.Members.join(", ") || "no members"}`)
  return undefined
}

export async function removeGroup(cli: Cli, name: string, options: { yes?: boolean }): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID, GroupName } = await findGroup(client, name)
  await confirm(cli, `Delete the group ${GroupName}?`, options)
  await client.deleteGroup({ query: { ID } })
  cli.show({ ID }, () => `Deleted ${GroupName}.`)
  return undefined
}

interface AuditOptions {
  user?: string
  action?: string
  since?: string
  until?: string
  limit: string
}

export async function listAudit(cli: Cli, { user, action, since, until, limit }: AuditOptions): Promise<undefined> {
  const rows = parseCount(limit, "--limit", { min: 1, max: 100_000 })
  const now = Date.now()
  const query = {
    ...(user === undefined ? {} : { UserName: user }),
    ...(action === undefined ? {} : { Action: action }),
    ...(since === undefined ? {} : { from: parseTime(since, "--since", { now, sign: -1 }) }),
    ...(until === undefined ? {} : { to: parseTime(until, "--until", { now, sign: -1 }) }),
  }
  const { client } = await connect(cli)
  const entries = (
    await readAllPages((page) => client.listAudit({ query: { ...query, page, pageSize: Math.min(pageSize, rows) } }), rows)
  ).slice(0, rows)
  cli.show(entries, () =>
    formatTable<AuditEntry>(entries, {
      time: (each) => each.Time,
      actor: (each) => each.Actor,
      action: (each) => each.Action,
      thing: (each) => (each.Thing ? `${each.Thing.Type} ${each.Thing.ID}` : ""),
      outcome: (each) => (each.Count > 1 ? `${each.Outcome} ×${each.Count}` : each.Outcome),
      address: (each) => each.Address,
    }),
  )
  return undefined
}
