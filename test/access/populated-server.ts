import { type Person, startTestServer, type TestServer } from "../test-server.ts"
import type { Named, Standing, ThingType } from "./expectations.ts"
import { createGrant, grantees, grantMethods, teams } from "./grants.ts"

/**
 * The people of every case. `ann` owns; `mia` is in the group `lab`; `gwen`, `guy` and `gil` are
 * those to whom something is granted, by name or by their groups; `bob` is nobody to anything.
 */
export const personNames = ["ann", "bob", "mia", "gwen", "guy", "gil", "boss"] as const
export type PersonName = (typeof personNames)[number]

/** One state of an object, and each person's relation to it. */
export interface Scenario {
  says: string
  type: ThingType
  isDeleted?: true
  standing: Partial<Record<PersonName, Standing>>
  /** The relation of people who are not in `standing`. Default: `other`. */
  others?: "use"
  /**
   * Whom every operation is asked by; the others of `standing` are asked where the thing is given
   * in another way. Default: all of them.
   */
  askers?: readonly PersonName[]
  make(populated: PopulatedServer): Promise<Named>
}

/** One installation with its people, in which every scenario makes its own objects. */
export interface PopulatedServer extends AsyncDisposable {
  readonly server: TestServer
  readonly people: Record<PersonName, Person>
  /** A published image that everybody may use. */
  readonly imageId: number
}

export async function startPopulatedServer(options: Readonly<Record<string, string>> = {}): Promise<PopulatedServer> {
  // Scenarios do not end their runs: the capacity suffices for all of them.
  const server = await startTestServer({ "cpu-overcommit": "1000", "memory-overcommit": "1000", ...options })
  const made = await Promise.all(personNames.map(async (name) => [name, await server.person(name, { IsAdmin: name === "boss" })] as const))
  const people = Object.fromEntries(made) as Record<PersonName, Person>
  for (const [GroupName, member] of Object.entries({ lab: "mia", ...teams }))
    await server.admin.createGroup({ body: { GroupName, Members: [member] } })
  // All of them share a group without grants, so they may name each other.
  await server.acquaint(...Object.values(people))
  const { ID: imageId } = await people.ann.client.createImage({ body: { Name: "web", Image: "fake/http", IsPublished: true } })
  return { server, people, imageId, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const named = ({ ID }: { ID: number }): Named => ({ id: ID })
const nobodys = { ann: "owner", bob: "other", mia: "other", boss: "admin" } as const
const everybodys = { ann: "owner", bob: "use", mia: "use", boss: "admin" } as const

type Owned = "image" | "data" | "project"

async function make({ people, imageId }: PopulatedServer, type: Owned, fields: object = {}): Promise<Named> {
  const { client } = people.ann
  if (type === "image") return named(await client.createImage({ body: { Name: "i", Image: "fake/http", ...fields } }))
  if (type === "data") return named(await client.createData({ body: { Name: "d", ...fields } }))
  return named(await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: imageId, ...fields } }))
}

async function deleted(populated: PopulatedServer, type: Owned, thing: Named): Promise<Named> {
  const { client } = populated.people.ann
  const remove = { image: client.deleteImage, data: client.deleteData, project: client.deleteProject }[type]
  await remove({ query: { ID: thing.id } })
  return thing
}

const granted = { ...grantees, ann: "owner", bob: "other", boss: "admin" } as const

/** An object of a person who has been deleted. */
async function orphaned(populated: PopulatedServer, type: Owned): Promise<Named> {
  const { admin } = populated.server
  const UserName = freshName("leaver")
  const leaver = await admin.createUser({ body: { UserName } })
  const named = { Name: "o", Image: "fake/http", UserName }
  const thing =
    type === "image"
      ? await admin.createImage({ body: named })
      : type === "data"
        ? await admin.createData({ body: { Name: "o", UserName } })
        : await admin.createProject({ body: { ProjectName: "o", Type: "http", ImageID: populated.imageId, UserName } })
  await createGrant(populated, type, { id: thing.ID }, { by: "boss" })
  await admin.deleteUser({ query: { ID: leaver.ID } })
  return { id: thing.ID }
}

function owned(type: Owned): Scenario[] {
  const published = type === "project" ? { IsPublic: true } : { IsPublished: true }
  return [
    { says: "private", type, standing: nobodys, make: (populated) => make(populated, type) },
    { says: "published", type, standing: everybodys, others: "use", make: (populated) => make(populated, type, published) },
    ...(type === "project" ? groups : []),
    {
      says: "granted",
      type,
      standing: granted,
      make: async (populated) => createGrant(populated, type, await make(populated, type), { by: "ann" }),
    },
    ...grantMethods(type, (populated) => make(populated, type), { by: "ann", standing: { ann: "owner", boss: "admin" } }),
    {
      says: "granted, of somebody who is deleted",
      type,
      standing: { ...grantees, bob: "other", boss: "admin" },
      make: (populated) => orphaned(populated, type),
    },
    {
      says: "granted and deleted",
      type,
      isDeleted: true,
      standing: granted,
      make: async (populated) => deleted(populated, type, await createGrant(populated, type, await make(populated, type), { by: "ann" })),
    },
    {
      says: "deleted",
      type,
      isDeleted: true,
      standing: nobodys,
      make: async (populated) => deleted(populated, type, await make(populated, type)),
    },
    {
      says: "published and deleted",
      type,
      isDeleted: true,
      standing: everybodys,
      others: "use",
      make: async (populated) => deleted(populated, type, await make(populated, type, published)),
    },
  ]
}

async function groupProject(populated: PopulatedServer): Promise<Named> {
  const body = { ProjectName: "p", Type: "http", ImageID: populated.imageId, UserName: "ann", GroupName: "lab" } as const
  return named(await populated.server.admin.createProject({ body }))
}

const groups: Scenario[] = [
  { says: "the group's", type: "project", standing: { ...nobodys, mia: "use" }, make: groupProject },
  {
    says: "the group's and deleted",
    type: "project",
    isDeleted: true,
    standing: { ...nobodys, mia: "use" },
    make: async (populated) => deleted(populated, "project", await groupProject(populated)),
  },
]

async function run(populated: PopulatedServer, starter: PersonName, project: Named): Promise<Named> {
  const made = await populated.people[starter].client.startRun({ body: { ProjectID: project.id } })
  return { id: made.ID, projectId: project.id }
}

async function ended(populated: PopulatedServer, starter: PersonName, thing: Named): Promise<Named> {
  await populated.people[starter].client.stopRun({ query: { ID: thing.id } })
  return thing
}

/** Bob's run of a published project of ann's. */
async function strangersRun(populated: PopulatedServer): Promise<Named> {
  return run(populated, "bob", await make(populated, "project", { IsPublic: true }))
}

const runs: Scenario[] = [
  {
    says: "that is granted",
    type: "run",
    standing: { bob: "starter", ann: "projectOwner", gwen: "write", guy: "use", gil: "read", mia: "other", boss: "admin" },
    make: async (populated) => createGrant(populated, "run", await strangersRun(populated), { by: "bob" }),
  },
  ...grantMethods("run", strangersRun, { by: "bob", standing: { bob: "starter", ann: "projectOwner", boss: "admin" } }),
  {
    says: "that is granted and has ended",
    type: "run",
    isDeleted: true,
    standing: { bob: "starter", ann: "projectOwner", ...grantees, mia: "other", boss: "admin" },
    make: async (populated) => ended(populated, "bob", await createGrant(populated, "run", await strangersRun(populated), { by: "bob" })),
  },
  {
    says: "of which the project is granted",
    type: "run",
    standing: { ann: "starter", gwen: "other", guy: "other", gil: "other", boss: "admin" },
    make: async (populated) =>
      run(populated, "ann", await createGrant(populated, "project", await make(populated, "project"), { by: "ann" })),
  },
  {
    says: "of one's own project",
    type: "run",
    standing: { ann: "starter", bob: "other", mia: "other", boss: "admin" },
    make: async (populated) => run(populated, "ann", await make(populated, "project")),
  },
  {
    says: "of a published project of somebody else's",
    type: "run",
    standing: { bob: "starter", ann: "projectOwner", mia: "other", boss: "admin" },
    make: strangersRun,
  },
  {
    says: "of the group's project",
    type: "run",
    standing: { mia: "starter", ann: "projectOwner", bob: "other", boss: "admin" },
    make: async (populated) => run(populated, "mia", await groupProject(populated)),
  },
  {
    says: "of a project that is deleted by now",
    type: "run",
    standing: { bob: "starter", ann: "projectOwner", mia: "other", boss: "admin" },
    make: async (populated) => {
      const project = await make(populated, "project", { IsPublic: true })
      const thing = await run(populated, "bob", project)
      await deleted(populated, "project", project)
      return thing
    },
  },
  {
    says: "that has ended",
    type: "run",
    isDeleted: true,
    standing: { bob: "starter", ann: "projectOwner", mia: "other", boss: "admin" },
    make: async (populated) => ended(populated, "bob", await strangersRun(populated)),
  },
]

let count = 0
const freshName = (word: string) => {
  count += 1
  return `${word}-${count}`
}

/** An account: `self` is the person's own. */
const accounts: Scenario[] = [
  {
    says: "bob's own",
    type: "user",
    standing: { bob: "self", ann: "other", mia: "other" },
    make: async ({ people }) => named(await people.bob.client.readUser({ query: { UserName: "bob" } })),
  },
  {
    says: "a new one",
    type: "user",
    standing: { ann: "other", boss: "admin" },
    make: async ({ server }) => named(await server.admin.createUser({ body: { UserName: freshName("new") } })),
  },
  {
    says: "deleted",
    type: "user",
    isDeleted: true,
    standing: { ann: "other", boss: "admin" },
    make: async ({ server }) => {
      const { ID } = await server.admin.createUser({ body: { UserName: freshName("new") } })
      await server.admin.deleteUser({ query: { ID } })
      return { id: ID }
    },
  },
]

const makeGroup = async ({ server }: PopulatedServer) =>
  named(await server.admin.createGroup({ body: { GroupName: freshName("group"), Members: ["mia"] } }))

const groupScenarios: Scenario[] = [
  { says: "with a member", type: "group", standing: { mia: "member", bob: "other", boss: "admin" }, make: makeGroup },
  {
    says: "deleted",
    type: "group",
    isDeleted: true,
    standing: { mia: "member", bob: "other", boss: "admin" },
    make: async (populated) => {
      const group = await makeGroup(populated)
      await populated.server.admin.deleteGroup({ query: { ID: group.id } })
      return group
    },
  },
]

const makeToken = async ({ people }: PopulatedServer) => named(await people.ann.client.createToken({ body: { Name: "t" } }))

const tokens: Scenario[] = [
  { says: "ann's", type: "token", standing: { ann: "owner", bob: "other", boss: "admin" }, make: makeToken },
  {
    says: "revoked",
    type: "token",
    isDeleted: true,
    standing: { ann: "owner", bob: "other", boss: "admin" },
    make: async (populated) => {
      const token = await makeToken(populated)
      await populated.people.ann.client.deleteToken({ query: { ID: token.id } })
      return token
    },
  },
]

const makeGrant = async (populated: PopulatedServer, body: object) => {
  const image = await make(populated, "image")
  return named(await populated.people.ann.client.createGrant({ body: { ImageID: image.id, Access: "write", ...body } }))
}

const grants: Scenario[] = [
  {
    says: "to a person",
    type: "grant",
    standing: { ann: "owner", gwen: "given", bob: "other", boss: "admin" },
    make: (populated) => makeGrant(populated, { UserName: "gwen" }),
  },
  {
    says: "to a group",
    type: "grant",
    standing: { ann: "owner", gwen: "given", guy: "other", mia: "other", boss: "admin" },
    make: async (populated) => {
      const image = await make(populated, "image")
      return named(await populated.server.admin.createGrant({ body: { ImageID: image.id, Access: "write", GroupName: "writers" } }))
    },
  },
  {
    says: "that was taken back",
    type: "grant",
    isDeleted: true,
    standing: { ann: "owner", gwen: "given", bob: "other", boss: "admin" },
    make: async (populated) => {
      const grant = await makeGrant(populated, { UserName: "gwen" })
      await populated.people.ann.client.deleteGrant({ query: { ID: grant.id } })
      return grant
    },
  },
  {
    says: "on what is deleted",
    type: "grant",
    isDeleted: true,
    standing: { ann: "owner", gwen: "given", bob: "other", boss: "admin" },
    make: async (populated) => {
      const image = await make(populated, "image")
      const grant = await populated.people.ann.client.createGrant({ body: { ImageID: image.id, Access: "write", UserName: "gwen" } })
      await deleted(populated, "image", image)
      return named(grant)
    },
  },
]

export const scenarios: readonly Scenario[] = [
  ...owned("image"),
  ...owned("data"),
  ...owned("project"),
  ...runs,
  ...accounts,
  ...groupScenarios,
  ...tokens,
  ...grants,
]

/** One object per scenario, made at its first use, for requests that change nothing. */
export function resourceCache(populated: PopulatedServer): (scenario: Scenario) => Promise<Named> {
  const kept = new Map<Scenario, Promise<Named>>()
  return (scenario) => {
    const thing = kept.get(scenario) ?? scenario.make(populated)
    kept.set(scenario, thing)
    return thing
  }
}
