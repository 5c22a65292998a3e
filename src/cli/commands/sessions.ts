import type { Session } from "#contract"
import type { Cli } from "../io/cli.ts"
import { parseCount, usageError } from "../io/formats.ts"
import { confirm } from "../io/input.ts"
import { formatTable } from "../io/table.ts"
import { connect } from "../session/connection.ts"
import { readAllPages } from "../session/names.ts"

interface SessionOwnerOptions {
  user?: string
  all?: boolean
}

/** One's own by default; `all` is everybody's, for administrators. */
export async function listSessions(cli: Cli, { user, all }: SessionOwnerOptions): Promise<undefined> {
  if (user !== undefined && all) throw usageError("--user and --all exclude each other.")
  const { client } = await connect(cli)
  const query = all ? {} : { UserName: user ?? (await client.whoami()).UserName }
  const sessions = await readAllPages((page) => client.listSessions({ query: { ...query, page, pageSize: 200 } }))
  cli.show(sessions, () =>
    formatTable<Session>(sessions, {
      id: (each) => String(each.ID),
      user: (each) => each.UserName,
      since: (each) => each.CreatedAt,
      used: (each) => each.LastUsedAt ?? "",
      expires: (each) => each.ExpiresAt,
      address: (each) => each.Address,
      browser: (each) => each.Browser,
    }),
  )
  return undefined
}

/** One session, or with `all` those of a person. */
export async function endSession(cli: Cli, id: string | undefined, options: SessionOwnerOptions & { yes?: boolean }): Promise<undefined> {
  const { user, all } = options
  if ((id === undefined) !== (all === true)) throw usageError("Either the ID of a session or --all is needed.")
  if (user !== undefined && !all) throw usageError("--user needs --all.")
  const { client } = await connect(cli)
  if (id !== undefined) {
    const ID = parseCount(id, "The ID of a session", { min: 1 })
    await client.deleteSession({ query: { ID } })
    cli.show({ ID }, () => `Ended session ${ID}.`)
    return undefined
  }
  const UserName = user ?? (await client.whoami()).UserName
  await confirm(cli, `End all sessions of ${UserName}? Tokens stay.`, options)
  await client.deleteSession({ query: { All: true, UserName } })
  cli.show({ UserName }, () => `Ended all sessions of ${UserName}.`)
  return undefined
}
