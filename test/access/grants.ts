import { untilExpired, withSoonExpiring } from "../fixtures/expiry.ts"
import type { ResourceRef } from "./expectations.ts"
import type { PersonName, PopulatedServer, Scenario } from "./populated-server.ts"

export type Grantable = "image" | "data" | "project" | "run"

/** The grantees of `createGrant`, and their access. */
export const grantees = { gwen: "write", guy: "use", gil: "read" } as const
/** Groups with one member each, so that the same people get the same grants by their groups. */
export const teams = { writers: "gwen", users: "guy", readers: "gil" } as const
const nobody = { gwen: "other", guy: "other", gil: "other" } as const

const field = { image: "ImageID", data: "DataID", project: "ProjectID", run: "RunID" } as const
const access: Readonly<Record<string, string>> = { ...grantees, writers: grantees.gwen, users: grantees.guy, readers: grantees.gil }

/**
 * A way to grant a resource: to people or to groups, and for how long. `by`: its owner, who grants
 * it to people; an administrator grants it to groups.
 */
interface GrantMethod {
  by: PersonName
  to?: "people" | "groups"
  until?: "ever" | "later" | "over"
}

/** Grants gwen, guy and gil their access. Resolves when grants that must expire have expired. */
export async function createGrant(
  server: PopulatedServer,
  type: Grantable,
  resource: ResourceRef,
  method: GrantMethod,
): Promise<ResourceRef> {
  const { by, to = "people", until = "ever" } = method
  const client = to === "people" ? server.people[by].client : server.server.admin
  const names =
    to === "people" ? Object.keys(grantees).map((UserName) => ({ UserName })) : Object.keys(teams).map((GroupName) => ({ GroupName }))
  const write = (Until: string | null) =>
    Promise.all(
      names.map((name) => {
        const Access = access[Object.values(name)[0] as string] as "read"
        return client.createGrant({ body: { [field[type]]: resource.id, ...name, Access, Until } })
      }),
    )
  if (until === "over") await beforeNow(write)
  else await write(until === "ever" ? null : new Date(Date.now() + 3_600_000).toISOString())
  return resource
}

/** Resolves when the time has passed that a grant was written with. */
async function beforeNow(write: (until: string) => Promise<unknown>): Promise<void> {
  await untilExpired(await withSoonExpiring((until) => write(until).then(() => until), 1_000))
}

/** Removes all grants of the resource. */
export async function deleteGrant(
  { people }: PopulatedServer,
  type: Grantable,
  resource: ResourceRef,
  by: PersonName,
): Promise<ResourceRef> {
  const { data } = await people[by].client.listGrants({ query: { [field[type]]: resource.id } })
  await Promise.all(data.map(({ ID }) => people[by].client.deleteGrant({ query: { ID } })))
  return resource
}

/**
 * Of several grants the highest access counts: gwen may read by name and write by her group; guy's
 * `use` has expired, and his group reads.
 */
async function grantTwice(server: PopulatedServer, type: Grantable, resource: ResourceRef): Promise<ResourceRef> {
  const { admin } = server.server
  const on = { [field[type]]: resource.id }
  await admin.createGrant({ body: { ...on, UserName: "gwen", Access: "read" } })
  await admin.createGrant({ body: { ...on, GroupName: "writers", Access: "write" } })
  await admin.createGrant({ body: { ...on, GroupName: "users", Access: "read" } })
  await beforeNow((Until) => admin.createGrant({ body: { ...on, UserName: "guy", Access: "use", Until } }))
  return resource
}

/** All ways to grant one resource, except the plain one: to people, without expiry. */
export function grantMethods(
  type: Grantable,
  createResource: (server: PopulatedServer) => Promise<ResourceRef>,
  base: { by: PersonName; relations: Scenario["relations"] },
): Scenario[] {
  const { by } = base
  const variant = (
    title: string,
    relations: Scenario["relations"],
    apply: (server: PopulatedServer, resource: ResourceRef) => Promise<ResourceRef>,
  ): Scenario => ({
    title,
    type,
    relations: { ...base.relations, ...relations },
    callers: Object.keys(grantees) as PersonName[],
    createResource: async (server) => apply(server, await createResource(server)),
  })
  const grantBy = (method: Omit<GrantMethod, "by">) => (server: PopulatedServer, resource: ResourceRef) =>
    createGrant(server, type, resource, { ...method, by })
  return [
    variant("granted for an hour", grantees, grantBy({ until: "later" })),
    variant("granted to groups", grantees, grantBy({ to: "groups" })),
    variant("granted to groups for an hour", grantees, grantBy({ to: "groups", until: "later" })),
    variant("granted until a moment ago", nobody, grantBy({ until: "over" })),
    variant("granted to groups until a moment ago", nobody, grantBy({ to: "groups", until: "over" })),
    variant("granted, then revoked", nobody, async (server, resource) =>
      deleteGrant(server, type, await createGrant(server, type, resource, { by }), by),
    ),
    variant("granted twice", { gwen: "write", guy: "read", gil: "other" }, (server, resource) => grantTwice(server, type, resource)),
  ]
}
