import type { Grant } from "#contract"
import type { Cli } from "../io/cli.ts"
import { parseCount, parseTime, usageError } from "../io/formats.ts"
import { formatTable } from "../io/table.ts"
import { connect } from "../session/connection.ts"
import { findData, findImage, findProject, findRun, readAllPages } from "../session/names.ts"

export async function listGrants(cli: Cli): Promise<undefined> {
  const { client } = await connect(cli)
  const grants = await readAllPages((page) => client.listGrants({ query: { page, pageSize: 200 } }))
  if (grants.length === 0) cli.note("Nothing is shared.")
  if (grants.length > 0 || cli.isJson)
    cli.show(grants, () =>
      formatTable<Grant>(grants, {
        id: (each) => String(each.ID),
        on: resourceOf,
        to: granteeOf,
        access: (each) => each.Access,
        until: (each) => each.Until ?? "",
      }),
    )
  return undefined
}

function resourceOf({ ProjectID, ImageID, DataID, RunID }: Grant): string {
  const [kind = "", id] =
    Object.entries({ project: ProjectID, image: ImageID, data: DataID, run: RunID }).find(([, each]) => each > 0) ?? []
  return `${kind} ${id}`
}

function granteeOf({ UserName, GroupName }: Grant): string {
  return UserName || `group ${GroupName}`
}

interface GrantOptions {
  project?: string
  image?: string
  data?: string
  run?: string
  user?: string
  group?: string
  until?: string
}

export async function createGrant(cli: Cli, Access: string, options: GrantOptions): Promise<undefined> {
  const { project, image, data, run, user, group, until } = options
  if ([project, image, data, run].filter((each) => each !== undefined).length !== 1)
    throw usageError("A grant needs one of --project, --image, --data and --run.")
  if ((user === undefined) === (group === undefined)) throw usageError("A grant needs one of --user and --group.")
  const Until = until === undefined ? {} : { Until: parseTime(until, "--until", { now: Date.now(), sign: 1 }) }
  const { client } = await connect(cli)
  const target = {
    ...(project === undefined ? {} : { ProjectID: (await findProject(client, project)).ID }),
    ...(image === undefined ? {} : { ImageID: (await findImage(client, image)).ID }),
    ...(data === undefined ? {} : { DataID: (await findData(client, data)).ID }),
    ...(run === undefined ? {} : { RunID: (await findRun(client, run)).ID }),
  }
  const grant = await client.createGrant({
    body: { ...target, ...(user === undefined ? { GroupName: group } : { UserName: user }), Access, ...Until },
  })
  cli.show(grant, () => `Granted ${grant.Access} on ${resourceOf(grant)} to ${granteeOf(grant)} (grant ${grant.ID}).`)
  return undefined
}

export async function removeGrant(cli: Cli, id: string): Promise<undefined> {
  const ID = parseCount(id, "ID", { min: 1 })
  const { client } = await connect(cli)
  await client.deleteGrant({ query: { ID } })
  cli.show({ ID }, () => `Revoked grant ${ID}.`)
  return undefined
}
