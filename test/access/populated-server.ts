import { signIn } from "../fixtures/browser-session.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"
import type { Relation, ResourceRef, ResourceType } from "./expectations.ts"
import { createGrant, grantees, grantMethods, teams } from "./grants.ts"

/**
 * `ann` owns the resources; `mia` is in the group `lab`; `gwen`, `guy` and `gil` are grantees, by
 * name or by their groups; `bob` has no relation to any resource; `boss` is an administrator.
 */
export const personNames = ["ann", "bob", "mia", "gwen", "guy", "gil", "boss"] as const
export type PersonName = (typeof personNames)[number]

/** One state of an object, and each person's relation to it. */
export interface Scenario {
  title: string
  type: ResourceType
  isDeleted?: true
  relations: Partial<Record<PersonName, Relation>>
  /** The relation of people who are not in `relations`. Default: `other`. */
  others?: "use"
  /** The people who call every operation on it. Default: all in `relations`. */
  callers?: readonly PersonName[]
  createResource(populated: PopulatedServer): Promise<ResourceRef>
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
  const created = await Promise.all(
    personNames.map(async (name) => [name, await server.person(name, { IsAdmin: name === "boss" })] as const),
  )
  const people = Object.fromEntries(created) as Record<PersonName, Person>
  for (const [GroupName, member] of Object.entries({ lab: "mia", ...teams }))
    await server.admin.createGroup({ body: { GroupName, Members: [member] } })
  // All of them share a group without grants, so they may name each other.
  await server.acquaint(...Object.values(people))
  const { ID: imageId } = await people.ann.client.createImage({ body: { Name: "web", Image: "fake/http", IsPublished: true } })
  return { server, people, imageId, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const toRef = ({ ID }: { ID: number }): ResourceRef => ({ id: ID })
const privateRelations = { ann: "owner", bob: "other", mia: "other", boss: "admin" } as const
const publishedRelations = { ann: "owner", bob: "use", mia: "use", boss: "admin" } as const

type Owned = "image" | "data" | "project"

async function createResource({ people, imageId }: PopulatedServer, type: Owned, fields: object = {}): Promise<ResourceRef> {
  const { client } = people.ann
  if (type === "image") return toRef(await client.createImage({ body: { Name: "i", Image: "fake/http", ...fields } }))
  if (type === "data") return toRef(await client.createData({ body: { Name: "d", ...fields } }))
  return toRef(await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: imageId, ...fields } }))
}

async function deleteResource(populated: PopulatedServer, type: Owned, resource: ResourceRef): Promise<ResourceRef> {
  const { client } = populated.people.ann
  const remove = { image: client.deleteImage, data: client.deleteData, project: client.deleteProject }[type]
  await remove({ query: { ID: resource.id } })
  return resource
}

const grantedRelations = { ...grantees, ann: "owner", bob: "other", boss: "admin" } as const

/** An object of a person who has been deleted. */
async function createOrphaned(populated: PopulatedServer, type: Owned): Promise<ResourceRef> {
  const { admin } = populated.server
  const UserName = freshName("leaver")
  const leaver = await admin.createUser({ body: { UserName } })
  const toRef = { Name: "o", Image: "fake/http", UserName }
  const resource =
    type === "image"
      ? await admin.createImage({ body: toRef })
      : type === "data"
        ? await admin.createData({ body: { Name: "o", UserName } })
        : await admin.createProject({ body: { ProjectName: "o", Type: "http", ImageID: populated.imageId, UserName } })
  await createGrant(populated, type, { id: resource.ID }, { by: "boss" })
  await admin.deleteUser({ query: { ID: leaver.ID } })
  return { id: resource.ID }
}

function owned(type: Owned): Scenario[] {
  const published = type === "project" ? { IsPublic: true } : { IsPublished: true }
  return [
    { title: "private", type, relations: privateRelations, createResource: (populated) => createResource(populated, type) },
    {
      title: "published",
      type,
      relations: publishedRelations,
      others: "use",
      createResource: (populated) => createResource(populated, type, published),
    },
    ...(type === "project" ? groups : []),
    {
      title: "granted",
      type,
      relations: grantedRelations,
      createResource: async (populated) => createGrant(populated, type, await createResource(populated, type), { by: "ann" }),
    },
    ...grantMethods(type, (populated) => createResource(populated, type), { by: "ann", relations: { ann: "owner", boss: "admin" } }),
    {
      title: "granted, of a deleted person",
      type,
      relations: { ...grantees, bob: "other", boss: "admin" },
      createResource: (populated) => createOrphaned(populated, type),
    },
    {
      title: "granted and deleted",
      type,
      isDeleted: true,
      relations: grantedRelations,
      createResource: async (populated) =>
        deleteResource(populated, type, await createGrant(populated, type, await createResource(populated, type), { by: "ann" })),
    },
    {
      title: "deleted",
      type,
      isDeleted: true,
      relations: privateRelations,
      createResource: async (populated) => deleteResource(populated, type, await createResource(populated, type)),
    },
    {
      title: "published and deleted",
      type,
      isDeleted: true,
      relations: publishedRelations,
      others: "use",
      createResource: async (populated) => deleteResource(populated, type, await createResource(populated, type, published)),
    },
  ]
}

async function groupProject(populated: PopulatedServer): Promise<ResourceRef> {
  const body = { ProjectName: "p", Type: "http", ImageID: populated.imageId, UserName: "ann", GroupName: "lab" } as const
  return toRef(await populated.server.admin.createProject({ body }))
}

const groups: Scenario[] = [
  { title: "the group's", type: "project", relations: { ...privateRelations, mia: "use" }, createResource: groupProject },
  {
    title: "the group's and deleted",
    type: "project",
    isDeleted: true,
    relations: { ...privateRelations, mia: "use" },
    createResource: async (populated) => deleteResource(populated, "project", await groupProject(populated)),
  },
]

async function run(populated: PopulatedServer, starter: PersonName, project: ResourceRef): Promise<ResourceRef> {
  const created = await populated.people[starter].client.startRun({ body: { ProjectID: project.id } })
  return { id: created.ID, projectId: project.id }
}

async function ended(populated: PopulatedServer, starter: PersonName, resource: ResourceRef): Promise<ResourceRef> {
  await populated.people[starter].client.stopRun({ query: { ID: resource.id } })
  return resource
}

/** Bob's run of a published project of ann's. */
async function strangersRun(populated: PopulatedServer): Promise<ResourceRef> {
  return run(populated, "bob", await createResource(populated, "project", { IsPublic: true }))
}

const runs: Scenario[] = [
  {
    title: "that is granted",
    type: "run",
    relations: { bob: "starter", ann: "projectOwner", gwen: "write", guy: "use", gil: "read", mia: "other", boss: "admin" },
    createResource: async (populated) => createGrant(populated, "run", await strangersRun(populated), { by: "bob" }),
  },
  ...grantMethods("run", strangersRun, { by: "bob", relations: { bob: "starter", ann: "projectOwner", boss: "admin" } }),
  {
    title: "that is granted and has ended",
    type: "run",
    isDeleted: true,
    relations: { bob: "starter", ann: "projectOwner", ...grantees, mia: "other", boss: "admin" },
    createResource: async (populated) =>
      ended(populated, "bob", await createGrant(populated, "run", await strangersRun(populated), { by: "bob" })),
  },
  {
    title: "of which the project is granted",
    type: "run",
    relations: { ann: "starter", gwen: "other", guy: "other", gil: "other", boss: "admin" },
    createResource: async (populated) =>
      run(populated, "ann", await createGrant(populated, "project", await createResource(populated, "project"), { by: "ann" })),
  },
  {
    title: "of one's own project",
    type: "run",
    relations: { ann: "starter", bob: "other", mia: "other", boss: "admin" },
    createResource: async (populated) => run(populated, "ann", await createResource(populated, "project")),
  },
  {
    title: "of another person's published project",
    type: "run",
    relations: { bob: "starter", ann: "projectOwner", mia: "other", boss: "admin" },
    createResource: strangersRun,
  },
  {
    title: "of the group's project",
    type: "run",
    relations: { mia: "starter", ann: "projectOwner", bob: "other", boss: "admin" },
    createResource: async (populated) => run(populated, "mia", await groupProject(populated)),
  },
  {
    title: "of a project that is deleted by now",
    type: "run",
    relations: { bob: "starter", ann: "projectOwner", mia: "other", boss: "admin" },
    createResource: async (populated) => {
      const project = await createResource(populated, "project", { IsPublic: true })
      const resource = await run(populated, "bob", project)
      await deleteResource(populated, "project", project)
      return resource
    },
  },
  {
    title: "that has ended",
    type: "run",
    isDeleted: true,
    relations: { bob: "starter", ann: "projectOwner", mia: "other", boss: "admin" },
    createResource: async (populated) => ended(populated, "bob", await strangersRun(populated)),
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
    title: "bob's own",
    type: "user",
    relations: { bob: "self", ann: "other", mia: "other" },
    createResource: async ({ people }) => toRef(await people.bob.client.readUser({ query: { UserName: "bob" } })),
  },
  {
    title: "a new one",
    type: "user",
    relations: { ann: "other", boss: "admin" },
    createResource: async ({ server }) => toRef(await server.admin.createUser({ body: { UserName: freshName("new") } })),
  },
  {
    title: "deleted",
    type: "user",
    isDeleted: true,
    relations: { ann: "other", boss: "admin" },
    createResource: async ({ server }) => {
      const { ID } = await server.admin.createUser({ body: { UserName: freshName("new") } })
      await server.admin.deleteUser({ query: { ID } })
      return { id: ID }
    },
  },
]

const makeGroup = async ({ server }: PopulatedServer) =>
  toRef(await server.admin.createGroup({ body: { GroupName: freshName("group"), Members: ["mia"] } }))

const groupScenarios: Scenario[] = [
  { title: "with a member", type: "group", relations: { mia: "member", bob: "other", boss: "admin" }, createResource: makeGroup },
  {
    title: "deleted",
    type: "group",
    isDeleted: true,
    relations: { mia: "member", bob: "other", boss: "admin" },
    createResource: async (populated) => {
      const group = await makeGroup(populated)
      await populated.server.admin.deleteGroup({ query: { ID: group.id } })
      return group
    },
  },
]

const makeToken = async ({ people }: PopulatedServer) => toRef(await people.ann.client.createToken({ body: { Name: "t" } }))

const tokens: Scenario[] = [
  { title: "ann's", type: "token", relations: { ann: "owner", bob: "other", boss: "admin" }, createResource: makeToken },
  {
    title: "revoked",
    type: "token",
    isDeleted: true,
    relations: { ann: "owner", bob: "other", boss: "admin" },
    createResource: async (populated) => {
      const token = await makeToken(populated)
      await populated.people.ann.client.deleteToken({ query: { ID: token.id } })
      return token
    },
  },
]

const makeSession = async ({ server, people }: PopulatedServer): Promise<ResourceRef> => ({
  id: (await signIn(server.quayside.baseUrl, people.ann)).id,
})

const sessions: Scenario[] = [
  { title: "ann's", type: "session", relations: { ann: "owner", bob: "other", boss: "admin" }, createResource: makeSession },
  {
    title: "ended",
    type: "session",
    isDeleted: true,
    relations: { ann: "owner", bob: "other", boss: "admin" },
    createResource: async (populated) => {
      const session = await makeSession(populated)
      await populated.people.ann.client.deleteSession({ query: { ID: session.id } })
      return session
    },
  },
]

const makeGrant = async (populated: PopulatedServer, body: object) => {
  const image = await createResource(populated, "image")
  return toRef(await populated.people.ann.client.createGrant({ body: { ImageID: image.id, Access: "write", ...body } }))
}

const grants: Scenario[] = [
  {
    title: "to a person",
    type: "grant",
    relations: { ann: "owner", gwen: "given", bob: "other", boss: "admin" },
    createResource: (populated) => makeGrant(populated, { UserName: "gwen" }),
  },
  {
    title: "to a group",
    type: "grant",
    relations: { ann: "owner", gwen: "given", guy: "other", mia: "other", boss: "admin" },
    createResource: async (populated) => {
      const image = await createResource(populated, "image")
      return toRef(await populated.server.admin.createGrant({ body: { ImageID: image.id, Access: "write", GroupName: "writers" } }))
    },
  },
  {
    title: "that was revoked",
    type: "grant",
    isDeleted: true,
    relations: { ann: "owner", gwen: "given", bob: "other", boss: "admin" },
    createResource: async (populated) => {
      const grant = await makeGrant(populated, { UserName: "gwen" })
      await populated.people.ann.client.deleteGrant({ query: { ID: grant.id } })
      return grant
    },
  },
  {
    title: "on what is deleted",
    type: "grant",
    isDeleted: true,
    relations: { ann: "owner", gwen: "given", bob: "other", boss: "admin" },
    createResource: async (populated) => {
      const image = await createResource(populated, "image")
      const grant = await populated.people.ann.client.createGrant({ body: { ImageID: image.id, Access: "write", UserName: "gwen" } })
      await deleteResource(populated, "image", image)
      return toRef(grant)
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
  ...sessions,
  ...grants,
]

/** One object per scenario, made at its first use, for requests that change nothing. */
export function resourceCache(populated: PopulatedServer): (scenario: Scenario) => Promise<ResourceRef> {
  const remaining = new Map<Scenario, Promise<ResourceRef>>()
  return (scenario) => {
    const resource = remaining.get(scenario) ?? scenario.createResource(populated)
    remaining.set(scenario, resource)
    return resource
  }
}
