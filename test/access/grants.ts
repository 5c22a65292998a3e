import { untilExpired, withSoonExpiring } from "../fixtures/expiry.ts"
import type { Named } from "./expectations.ts"
import type { PersonName, PopulatedServer, Scenario } from "./populated-server.ts"

export type Grantable = "image" | "data" | "project" | "run"

/** The grantees of `give`. */
export const grantees = { gwen: "write", guy: "use", gil: "read" } as const
/** Groups with one member each, so that the same people get the same grants by their groups. */
export const teams = { writers: "gwen", users: "guy", readers: "gil" } as const
const nobody = { gwen: "other", guy: "other", gil: "other" } as const

const field = { image: "ImageID", data: "DataID", project: "ProjectID", run: "RunID" } as const
const access: Readonly<Record<string, string>> = { ...grantees, writers: grantees.gwen, users: grantees.guy, readers: grantees.gil }

/**
 * How something is given: by name or by group, and for how long. `by`: whose it is; an
 * administrator where that one is in no group.
 */
interface GrantMethod {
  by: PersonName
  to?: "people" | "groups"
  until?: "ever" | "later" | "over"
}

/**
 * Grants gwen, guy and gil the access in `given`. Resolves when grants that must expire have
 * expired.
 */
export async function createGrant(server: PopulatedServer, type: Grantable, thing: Named, giving: GrantMethod): Promise<Named> {
  const { by, to = "people", until = "ever" } = giving
  const client = to === "people" ? server.people[by].client : server.server.admin
  const names =
    to === "people" ? Object.keys(grantees).map((UserName) => ({ UserName })) : Object.keys(teams).map((GroupName) => ({ GroupName }))
  const write = (Until: string | null) =>
    Promise.all(
      names.map((name) => {
        const Access = access[Object.values(name)[0] as string] as "read"
        return client.createGrant({ body: { [field[type]]: thing.id, ...name, Access, Until } })
      }),
    )
  if (until === "over") await beforeNow(write)
  else await write(until === "ever" ? null : new Date(Date.now() + 3_600_000).toISOString())
  return thing
}

/** Resolves when the time has passed that a grant was written with. */
async function beforeNow(write: (until: string) => Promise<unknown>): Promise<void> {
  await untilExpired(await withSoonExpiring((until) => write(until).then(() => until), 1_000))
}

/** Removes all grants of the resource. */
export async function deleteGrant({ people }: PopulatedServer, type: Grantable, thing: Named, by: PersonName): Promise<Named> {
  const { data } = await people[by].client.listGrants({ query: { [field[type]]: thing.id } })
  await Promise.all(data.map(({ ID }) => people[by].client.deleteGrant({ query: { ID } })))
  return thing
}

/**
 * Of several grants the highest access counts: gwen may read by name and write by her group; guy's
 * `use` has expired, and his group reads.
 */
async function giveTwice(server: PopulatedServer, type: Grantable, thing: Named): Promise<Named> {
  const { admin } = server.server
  const on = { [field[type]]: thing.id }
  await admin.createGrant({ body: { ...on, UserName: "gwen", Access: "read" } })
  await admin.createGrant({ body: { ...on, GroupName: "writers", Access: "write" } })
  await admin.createGrant({ body: { ...on, GroupName: "users", Access: "read" } })
  await beforeNow((Until) => admin.createGrant({ body: { ...on, UserName: "guy", Access: "use", Until } }))
  return thing
}

/** All ways to grant one resource, except the plain one: to people, without expiry. */
export function grantMethods(
  type: Grantable,
  make: (server: PopulatedServer) => Promise<Named>,
  whose: { by: PersonName; standing: Scenario["standing"] },
): Scenario[] {
  const { by } = whose
  const way = (
    says: string,
    standing: Scenario["standing"],
    done: (server: PopulatedServer, thing: Named) => Promise<Named>,
  ): Scenario => ({
    says,
    type,
    standing: { ...whose.standing, ...standing },
    askers: Object.keys(grantees) as PersonName[],
    make: async (server) => done(server, await make(server)),
  })
  const how = (giving: Omit<GrantMethod, "by">) => (server: PopulatedServer, thing: Named) =>
    createGrant(server, type, thing, { ...giving, by })
  return [
    way("granted for an hour", grantees, how({ until: "later" })),
    way("granted to groups", grantees, how({ to: "groups" })),
    way("granted to groups for an hour", grantees, how({ to: "groups", until: "later" })),
    way("granted until a moment ago", nobody, how({ until: "over" })),
    way("granted to groups until a moment ago", nobody, how({ to: "groups", until: "over" })),
    way("granted, which was taken back", nobody, async (server, thing) =>
      deleteGrant(server, type, await createGrant(server, type, thing, { by }), by),
    ),
    way("granted twice", { gwen: "write", guy: "read", gil: "other" }, (server, thing) => giveTwice(server, type, thing)),
  ]
}
