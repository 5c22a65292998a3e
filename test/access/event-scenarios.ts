import { signIn } from "../fixtures/browser-session.ts"
import {
  as,
  create,
  type EventScenario,
  groupIdOf,
  idOf,
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
  const { created, updated, deleted, back: restored } = eventNames(type)
  return [
    {
      title: `${a} that is private`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        update(type, { Comment: "c" }, { [updated]: "ann boss" }),
        update(type, { Comment: "d" }, { [updated]: "ann boss" }, "boss"),
        remove(type, { [deleted]: "ann boss" }),
        restore(type, { [restored]: "ann boss" }),
      ],
    },
    {
      title: `${a} that is published`,
      steps: [
        create(type, open(type), { [created]: everybody }),
        update(type, { Comment: "c" }, { [updated]: everybody }),
        remove(type, { [deleted]: everybody }),
        restore(type, { [restored]: everybody }),
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
  const { created, updated, deleted, back: restored } = eventNames(type)
  return [
    {
      title: `${a} that is granted`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        shareWith(type, { UserName: "gwen", Access: "write" }, { [updated]: "gwen", "grant.created": "ann gwen boss" }),
        shareWith(type, { UserName: "guy", Access: "use" }, { [updated]: "guy", "grant.created": "ann guy boss" }),
        shareWith(type, { UserName: "gil" }, { [updated]: "gil", "grant.created": "ann gil boss" }),
        update(type, { Comment: "c" }, { [updated]: "ann gwen guy gil boss" }),
        remove(type, { [deleted]: "ann gwen guy gil boss" }),
        restore(type, { [restored]: "ann gwen guy gil boss" }),
        revoke({ [deleted]: "gil", "grant.deleted": "ann gil boss" }),
        shareWith(type, { UserName: "guy", Access: "read" }, { [updated]: "guy", "grant.updated": "ann guy boss" }),
        update(type, { Comment: "d" }, { [updated]: "ann gwen guy boss" }),
      ],
    },
    {
      title: `${a} that is granted to a group`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        shareWith(type, { GroupName: "lab" }, { [updated]: "mia", "grant.created": "ann mia boss" }, "boss"),
        update(type, { Comment: "c" }, { [updated]: "ann mia boss" }),
        revoke({ [deleted]: "mia", "grant.deleted": "ann mia boss" }),
        update(type, { Comment: "d" }, { [updated]: "ann boss" }),
      ],
    },
    {
      title: `${a} that is transferred`,
      steps: [
        create(type, {}, { [created]: "ann boss" }),
        update(type, { UserName: "bob" }, { [updated]: "bob boss", [deleted]: "ann" }, "boss"),
        update(type, { Comment: "c" }, { [updated]: "bob boss" }, "bob"),
      ],
    },
  ]
}

const groupsProject: EventScenario = {
  title: "a group's project",
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
    title: "a group that people join and leave",
    steps: [
      {
        title: "made",
        async perform(server) {
          return { type: "group", id: (await as(server, "boss").createGroup({ body: { GroupName, Members: ["una"] } })).ID }
        },
        receivers: { "group.created": "una boss" },
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
        title: "the group is deleted",
        async perform(server, objects) {
          await as(server, "boss").deleteGroup({ query: { ID: groupIdOf(objects) } })
          return undefined
        },
        receivers: { "group.deleted": "bob boss", "project.deleted": "bob", "image.deleted": "bob" },
      },
      update("image", { Comment: "e" }, { "image.updated": "ann boss" }),
    ],
  }
}

const states = (names: readonly string[], people: string) => Object.fromEntries(names.map((name) => [`run.state ${name}`, people]))
const starting = ["pulling", "creating", "starting", "ready"]
const endingStates = (code: string) => [`stopping because ${code}`, `ended because ${code}`]

const runs: EventScenario[] = [
  {
    title: "a run of somebody else's project",
    steps: [
      create("project", { IsPublic: true }, { "project.created": everybody }),
      startRun("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss") }),
      shareWith("run", { UserName: "gil" }, { "run.updated": "gil", "grant.created": "bob gil boss" }, "bob"),
      shareWith("run", { UserName: "gwen", Access: "write" }, { "run.updated": "gwen", "grant.created": "bob gwen boss" }, "bob"),
      revoke({ "run.deleted": "gwen", "grant.deleted": "bob gwen boss" }, "bob"),
      // The project's owner sees that the run has ended, but not why.
      stopRun("bob", {
        ...states(["stopping", "ended"], "ann"),
        ...states(endingStates("stopped_by_user"), "bob gil boss"),
      }),
    ],
  },
  {
    title: "a run of one's own project",
    steps: [
      create("project", {}, { "project.created": "ann boss" }),
      // This step transfers datasets, which a run that can write to their home would prevent.
      update("project", { Comment: "c" }, { "project.updated": "ann boss" }),
      startRun("ann", {}, { "run.created": "ann boss", ...states(starting, "ann boss") }),
      stopRun("ann", states(endingStates("stopped_by_user"), "ann boss")),
    ],
  },
  {
    title: "a run of a project that is withdrawn and transferred",
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
        ...states(endingStates("stopped_by_admin"), "bob boss"),
      }),
    ],
  },
  {
    title: "a run whose image is fetched first",
    steps: [
      create("image", { Image: "fake/http:fetched", IsPublished: true }, { "image.created": everybody }),
      {
        title: "a project with it is made",
        async perform(server, objects) {
          const body = { ProjectName: "n", Type: "http", ImageID: idOf(objects, "image"), IsPublic: true }
          return { type: "project", id: (await as(server, "ann").createProject({ body })).ID }
        },
        receivers: { "project.created": everybody },
      },
      // The project's owner gets no progress of the run.
      startRun("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss"), "run.progress Progress": "bob boss" }),
    ],
  },
  {
    title: "a run that cannot start",
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
    title: "somebody's account",
    steps: [
      {
        title: "made",
        async perform(server) {
          return { type: "user", id: (await as(server, "boss").createUser({ body: { UserName: uniqueName("new") } })).ID }
        },
        receivers: { "user.created": "boss" },
      },
      {
        title: "changed",
        async perform(server, objects) {
          await as(server, "boss").updateUser({ body: { ID: idOf(objects, "user"), Comment: "c" } })
          return undefined
        },
        receivers: { "user.updated": "boss" },
      },
      {
        title: "deleted",
        async perform(server, objects) {
          await as(server, "boss").deleteUser({ query: { ID: idOf(objects, "user") } })
          return undefined
        },
        receivers: { "user.deleted": "boss" },
      },
    ],
  },
  {
    title: "gil's own account",
    steps: [
      {
        title: "changed",
        async perform(server) {
          const { ID } = await as(server, "boss").readUser({ query: { UserName: "gil" } })
          await as(server, "boss").updateUser({ body: { ID, Comment: "c" } })
          return { type: "user", id: ID }
        },
        receivers: { "user.updated": "gil boss" },
      },
    ],
  },
  {
    title: "a token of ann's",
    steps: [
      {
        title: "made",
        async perform(server) {
          return { type: "token", id: (await as(server, "ann").createToken({ body: { Name: "t" } })).ID }
        },
        receivers: { "token.created": "ann" },
      },
      {
        title: "revoked",
        async perform(server, objects) {
          await as(server, "ann").deleteToken({ query: { ID: idOf(objects, "token") } })
          return undefined
        },
        receivers: { "token.deleted": "ann" },
      },
    ],
  },
  {
    title: "a session of ann's",
    steps: [
      {
        title: "begun",
        async perform(server) {
          return { type: "session", id: (await signIn(server.server.quayside.baseUrl, server.people.ann)).id }
        },
        receivers: { "session.created": "ann boss" },
      },
      {
        title: "ended",
        async perform(server, objects) {
          await as(server, "boss").deleteSession({ query: { ID: idOf(objects, "session") } })
          return undefined
        },
        receivers: { "session.deleted": "ann boss" },
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

const isolatedGrant: EventScenario = {
  title: "an image that is granted while nothing else happens",
  steps: [
    create("image", {}, { "image.created": "ann boss" }),
    shareWith("image", { UserName: "bob" }, { "image.updated": "bob", "grant.created": "ann bob boss" }),
    update("image", { Comment: "c" }, { "image.updated": "ann bob boss" }),
  ],
}

/** Scenarios that run alone, since every other change would send events to the same people. */
export const isolatedEventScenarios: readonly EventScenario[] = [isolatedGrant, membership()]
