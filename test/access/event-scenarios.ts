import {
  as,
  create,
  type EventScenario,
  idOf,
  inGroup,
  type Owned,
  remove,
  restore,
  revoke,
  setMembers,
  shareWith,
  startRun,
  stopRun,
  uniqueName,
  update,
} from "./event-steps.ts"
import { personNames } from "./populated-server.ts"

/** `una` has no rights on any object and, like bob, is in no group. */
const everybody = [...personNames, "una"].join(" ")
const strangers = "bob mia gwen guy gil una"

const open = (type: Owned) => (type === "project" ? { IsPublic: true } : { IsPublished: true })
const shut = (type: Owned) => (type === "project" ? { IsPublic: false } : { IsPublished: false })

const withArticle = { image: "an image", data: "a dataset", project: "a project" }

function eventNames(type: Owned) {
  return { created: `${type}.created`, updated: `${type}.updated`, deleted: `${type}.deleted`, back: `${type}.restored` }
}

function ofOwned(type: Owned): EventScenario[] {
  const a = withArticle[type]
  const { created, updated, deleted, back } = eventNames(type)
  return [
    {
      says: `${a} that is private`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        update(type, { Comment: "c" }, { [updated]: "ann boss" }),
        update(type, { Comment: "d" }, { [updated]: "ann boss" }, "boss"),
        remove(type, { [deleted]: "ann boss" }),
        restore(type, { [back]: "ann boss" }),
      ],
    },
    {
      says: `${a} that is published`,
      steps: [
        create(type, open(type), { [created]: everybody }),
        update(type, { Comment: "c" }, { [updated]: everybody }),
        remove(type, { [deleted]: everybody }),
        restore(type, { [back]: everybody }),
        update(type, shut(type), { [updated]: "ann boss", [deleted]: strangers }),
        update(type, { Comment: "d" }, { [updated]: "ann boss" }),
        update(type, open(type), { [updated]: everybody }),
      ],
    },
    ...ofGranted(type),
  ]
}

function ofGranted(type: Owned): EventScenario[] {
  const a = withArticle[type]
  const { created, updated, deleted, back } = eventNames(type)
  return [
    {
      says: `${a} that is granted`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        shareWith(type, { UserName: "gwen", Access: "write" }, { [updated]: "gwen", "grant.created": "ann gwen boss" }),
        shareWith(type, { UserName: "guy", Access: "use" }, { [updated]: "guy", "grant.created": "ann guy boss" }),
        shareWith(type, { UserName: "gil" }, { [updated]: "gil", "grant.created": "ann gil boss" }),
        update(type, { Comment: "c" }, { [updated]: "ann gwen guy gil boss" }),
        remove(type, { [deleted]: "ann gwen guy gil boss" }),
        restore(type, { [back]: "ann gwen guy gil boss" }),
        revoke({ [deleted]: "gil", "grant.deleted": "ann gil boss" }),
        shareWith(type, { UserName: "guy", Access: "read" }, { [updated]: "guy", "grant.updated": "ann guy boss" }),
        update(type, { Comment: "d" }, { [updated]: "ann gwen guy boss" }),
      ],
    },
    {
      says: `${a} that is granted to a group`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        shareWith(type, { GroupName: "lab" }, { [updated]: "mia", "grant.created": "ann mia boss" }, "boss"),
        update(type, { Comment: "c" }, { [updated]: "ann mia boss" }),
        revoke({ [deleted]: "mia", "grant.deleted": "ann mia boss" }),
        update(type, { Comment: "d" }, { [updated]: "ann boss" }),
      ],
    },
    {
      says: `${a} that is handed over`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        update(type, { UserName: "bob" }, { [updated]: "bob boss", [deleted]: "ann" }, "boss"),
        update(type, { Comment: "c" }, { [updated]: "bob boss" }, "bob"),
      ],
    },
  ]
}

const groupsProject: EventScenario = {
  says: "a group's project",
  steps: [
    create("project", { UserName: "ann", GroupName: "lab" }, { "project.created": "ann mia boss" }, "boss"),
    update("project", { Comment: "c" }, { "project.updated": "ann mia boss" }),
    remove("project", { "project.deleted": "ann mia boss" }),
    restore("project", { "project.restored": "ann mia boss" }),
    update("project", { GroupName: "" }, { "project.updated": "ann boss", "project.deleted": "mia" }),
    update("project", { GroupName: "lab" }, { "project.updated": "ann mia boss" }, "boss"),
    update("project", { GroupName: "", IsPublic: true }, { "project.updated": everybody }),
  ],
}

/**
 * Bob comes when una goes; both are in no other group. An image is granted to the group, and a
 * project is the group's.
 */
function membership(): EventScenario {
  const GroupName = uniqueName("crew")
  return {
    says: "a group's comings and goings",
    steps: [
      {
        says: "made",
        async does(server) {
          return { type: "group", id: (await as(server, "boss").createGroup({ body: { GroupName, Members: ["una"] } })).ID }
        },
        tells: { "group.created": "una boss" },
      },
      create("image", {}, { "image.created": "ann boss" }),
      shareWith("image", { GroupName }, { "image.updated": "una", "grant.created": "ann una boss" }, "boss"),
      create("project", { UserName: "ann", GroupName }, { "project.created": "ann una boss" }, "boss"),
      setMembers(["una", "bob"], { "group.updated": "una bob boss", "project.updated": "bob", "image.updated": "bob" }),
      update("image", { Comment: "c" }, { "image.updated": "ann una bob boss" }),
      setMembers(["bob"], { "group.updated": "bob boss", "group.deleted": "una", "project.deleted": "una", "image.deleted": "una" }),
      update("image", { Comment: "d" }, { "image.updated": "ann bob boss" }),
      update("project", { Comment: "d" }, { "project.updated": "ann bob boss" }),
      {
        says: "the group is deleted",
        async does(server, things) {
          await as(server, "boss").deleteGroup({ query: { ID: inGroup(things) } })
          return undefined
        },
        tells: { "group.deleted": "bob boss", "project.deleted": "bob", "image.deleted": "bob" },
      },
      update("image", { Comment: "e" }, { "image.updated": "ann boss" }),
    ],
  }
}

const states = (names: readonly string[], people: string) => Object.fromEntries(names.map((name) => [`run.state ${name}`, people]))
const starting = ["pulling", "creating", "starting", "ready"]
const over = (code: string) => [`stopping because ${code}`, `ended because ${code}`]

const runs: EventScenario[] = [
  {
    says: "a run of somebody else's project",
    steps: [
      create("project", { IsPublic: true }, { "project.created": everybody }),
      startRun("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss") }),
      shareWith("run", { UserName: "gil" }, { "run.updated": "gil", "grant.created": "bob gil boss" }, "bob"),
      shareWith("run", { UserName: "gwen", Access: "write" }, { "run.updated": "gwen", "grant.created": "bob gwen boss" }, "bob"),
      revoke({ "run.deleted": "gwen", "grant.deleted": "bob gwen boss" }, "bob"),
      // The project's owner sees that the run has ended, but not why.
      stopRun("bob", {
        ...states(["stopping", "ended"], "ann"),
        ...states(over("stopped_by_user"), "bob gil boss"),
      }),
    ],
  },
  {
    says: "a run of one's own project",
    steps: [
      create("project", {}, { "project.created": "ann boss" }),
      // This step transfers datasets, which a run that can write to their home would prevent.
      update("project", { Comment: "c" }, { "project.updated": "ann boss" }),
      startRun("ann", {}, { "run.created": "ann boss", ...states(starting, "ann boss") }),
      stopRun("ann", states(over("stopped_by_user"), "ann boss")),
    ],
  },
  {
    says: "a run of a project that is withdrawn and handed over",
    steps: [
      create("project", { IsPublic: true }, { "project.created": everybody }),
      startRun("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss") }),
      update("project", { IsPublic: false }, { "project.updated": "ann boss", "project.deleted": strangers }),
      update(
        "project",
        { UserName: "mia" },
        { "project.updated": "mia boss", "project.deleted": "ann", "run.updated": "mia", "run.deleted": "ann" },
        "boss",
      ),
      // Another person ended the run, so its starter gets the event.
      stopRun("boss", {
        ...states(["stopping", "ended"], "mia"),
        ...states(over("stopped_by_admin"), "bob boss"),
      }),
    ],
  },
  {
    says: "a run whose image is fetched first",
    steps: [
      create("image", { Image: "fake/http:fetched", IsPublished: true }, { "image.created": everybody }),
      {
        says: "a project with it is made",
        async does(server, things) {
          const body = { ProjectName: "n", Type: "http", ImageID: idOf(things, "image"), IsPublic: true }
          return { type: "project", id: (await as(server, "ann").createProject({ body })).ID }
        },
        tells: { "project.created": everybody },
      },
      // The project's owner gets no progress of the run.
      startRun("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss"), "run.progress Progress": "bob boss" }),
    ],
  },
  {
    says: "a run that cannot start",
    steps: [
      create("project", { IsPublic: true }, { "project.created": everybody }),
      startRun(
        "bob",
        { Cpus: 100_000 },
        { "run.created": "bob ann boss", "run.state failed": "ann", "run.state failed because insufficient_cpu": "bob boss" },
      ),
    ],
  },
]

const accounts: EventScenario[] = [
  {
    says: "somebody's account",
    steps: [
      {
        says: "made",
        async does(server) {
          return { type: "user", id: (await as(server, "boss").createUser({ body: { UserName: uniqueName("new") } })).ID }
        },
        tells: { "user.created": "boss" },
      },
      {
        says: "changed",
        async does(server, things) {
          await as(server, "boss").updateUser({ body: { ID: idOf(things, "user"), Comment: "c" } })
          return undefined
        },
        tells: { "user.updated": "boss" },
      },
      {
        says: "deleted",
        async does(server, things) {
          await as(server, "boss").deleteUser({ query: { ID: idOf(things, "user") } })
          return undefined
        },
        tells: { "user.deleted": "boss" },
      },
    ],
  },
  {
    says: "gil's own account",
    steps: [
      {
        says: "changed",
        async does(server) {
          const { ID } = await as(server, "boss").readUser({ query: { UserName: "gil" } })
          await as(server, "boss").updateUser({ body: { ID, Comment: "c" } })
          return { type: "user", id: ID }
        },
        tells: { "user.updated": "gil boss" },
      },
    ],
  },
  {
    says: "a token of ann's",
    steps: [
      {
        says: "made",
        async does(server) {
          return { type: "token", id: (await as(server, "ann").createToken({ body: { Name: "t" } })).ID }
        },
        tells: { "token.created": "ann" },
      },
      {
        says: "revoked",
        async does(server, things) {
          await as(server, "ann").deleteToken({ query: { ID: idOf(things, "token") } })
          return undefined
        },
        tells: { "token.deleted": "ann" },
      },
    ],
  },
]

export const eventScenarios: readonly EventScenario[] = [
  ...ofOwned("image"),
  ...ofOwned("data"),
  ...ofOwned("project"),
  groupsProject,
  ...runs,
  ...accounts,
]

const grantedAlone: EventScenario = {
  says: "an image that is granted while nothing else happens",
  steps: [
    create("image", {}, { "image.created": "ann boss" }),
    shareWith("image", { UserName: "bob" }, { "image.updated": "bob", "grant.created": "ann bob boss" }),
    update("image", { Comment: "c" }, { "image.updated": "ann bob boss" }),
  ],
}

/**
 * What is told of when nothing else is: people whom nothing else concerns are told together with
 * others of the same groups.
 */
export const isolatedEventScenarios: readonly EventScenario[] = [grantedAlone, membership()]
