import { over, soonOver } from "../fixtures/soon-over.ts"
import type { Named } from "./expectations.ts"
import type { CastName, Scenario, Stage } from "./stage.ts"

export type Grantable = "image" | "data" | "project" | "run"

/** To whom `give` gives what. */
export const given = { gwen: "write", guy: "use", gil: "read" } as const
/** Groups with one member each, so that the same people are given the same by their groups. */
export const teams = { writers: "gwen", users: "guy", readers: "gil" } as const
const nobody = { gwen: "other", guy: "other", gil: "other" } as const

const field = { image: "ImageID", data: "DataID", project: "ProjectID", run: "RunID" } as const
const access: Readonly<Record<string, string>> = { ...given, writers: given.gwen, users: given.guy, readers: given.gil }

/**
 * How something is given: by name or by group, and for how long. `by`: whose it is; an
 * administrator where that one is in no group.
 */
interface Giving {
  by: CastName
  to?: "people" | "groups"
  until?: "ever" | "later" | "over"
}

/** To gwen, guy and gil what `given` says. Resolves when a time that is to be over is over. */
export async function give(stage: Stage, type: Grantable, thing: Named, giving: Giving): Promise<Named> {
  const { by, to = "people", until = "ever" } = giving
  const client = to === "people" ? stage.people[by].client : stage.world.admin
  const names =
    to === "people" ? Object.keys(given).map((UserName) => ({ UserName })) : Object.keys(teams).map((GroupName) => ({ GroupName }))
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

/** Resolves when what was written with a time in the future has this time behind it. */
async function beforeNow(write: (until: string) => Promise<unknown>): Promise<void> {
  await over(await soonOver((until) => write(until).then(() => until), 1_000))
}

/** Of several grants of the same thing none is left. */
export async function takeBack({ people }: Stage, type: Grantable, thing: Named, by: CastName): Promise<Named> {
  const { data } = await people[by].client.listGrants({ query: { [field[type]]: thing.id } })
  await Promise.all(data.map(({ ID }) => people[by].client.deleteGrant({ query: { ID } })))
  return thing
}

/**
 * Of several grants the most counts: gwen may read by name and write by her group; guy's use is
 * over, and his group reads.
 */
async function giveTwice(stage: Stage, type: Grantable, thing: Named): Promise<Named> {
  const { admin } = stage.world
  const on = { [field[type]]: thing.id }
  await admin.createGrant({ body: { ...on, UserName: "gwen", Access: "read" } })
  await admin.createGrant({ body: { ...on, GroupName: "writers", Access: "write" } })
  await admin.createGrant({ body: { ...on, GroupName: "users", Access: "read" } })
  await beforeNow((Until) => admin.createGrant({ body: { ...on, UserName: "guy", Access: "use", Until } }))
  return thing
}

/** Every way in which one thing can be given, but the plain one, to people for ever. */
export function waysToGive(
  type: Grantable,
  make: (stage: Stage) => Promise<Named>,
  whose: { by: CastName; standing: Scenario["standing"] },
): Scenario[] {
  const { by } = whose
  const way = (says: string, standing: Scenario["standing"], done: (stage: Stage, thing: Named) => Promise<Named>): Scenario => ({
    says,
    type,
    standing: { ...whose.standing, ...standing },
    askers: Object.keys(given) as CastName[],
    make: async (stage) => done(stage, await make(stage)),
  })
  const how = (giving: Omit<Giving, "by">) => (stage: Stage, thing: Named) => give(stage, type, thing, { ...giving, by })
  return [
    way("granted for an hour", given, how({ until: "later" })),
    way("granted to groups", given, how({ to: "groups" })),
    way("granted to groups for an hour", given, how({ to: "groups", until: "later" })),
    way("granted until a moment ago", nobody, how({ until: "over" })),
    way("granted to groups until a moment ago", nobody, how({ to: "groups", until: "over" })),
    way("granted, which was taken back", nobody, async (stage, thing) => takeBack(stage, type, await give(stage, type, thing, { by }), by)),
    way("granted twice", { gwen: "write", guy: "read", gil: "other" }, (stage, thing) => giveTwice(stage, type, thing)),
  ]
}
