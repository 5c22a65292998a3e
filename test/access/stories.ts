import { castNames } from "./stage.ts"
import {
  as,
  fresh,
  given,
  idOf,
  inGroup,
  made,
  members,
  type Owned,
  put,
  removed,
  restored,
  type Story,
  started,
  stopped,
  takenBack,
} from "./steps.ts"

/** `una` is nobody to anything, and of the same groups as bob: in none. */
const everybody = [...castNames, "una"].join(" ")
const strangers = "bob mia gwen guy gil una"

function ofOwned(type: Owned): Story[] {
  const a = { image: "an image", data: "a dataset", project: "a project" }[type]
  const [open, shut] = type === "project" ? [{ IsPublic: true }, { IsPublic: false }] : [{ IsPublished: true }, { IsPublished: false }]
  const [created, updated, deleted, back] = ["created", "updated", "deleted", "restored"].map((verb) => `${type}.${verb}`) as [
    string,
    string,
    string,
    string,
  ]
  return [
    {
      says: `${a} that is private`,
      steps: [
        made(type, {}, { [created]: "ann boss" }),
        put(type, { Comment: "c" }, { [updated]: "ann boss" }),
        put(type, { Comment: "d" }, { [updated]: "ann boss" }, "boss"),
        removed(type, { [deleted]: "ann boss" }),
        restored(type, { [back]: "ann boss" }),
      ],
    },
    {
      says: `${a} that is published`,
      steps: [
        made(type, open, { [created]: everybody }),
        put(type, { Comment: "c" }, { [updated]: everybody }),
        removed(type, { [deleted]: everybody }),
        restored(type, { [back]: everybody }),
        put(type, shut, { [updated]: "ann boss", [deleted]: strangers }),
        put(type, { Comment: "d" }, { [updated]: "ann boss" }),
        put(type, open, { [updated]: everybody }),
      ],
    },
    {
      says: `${a} that is granted`,
      steps: [
        made(type, {}, { [created]: "ann boss" }),
        given(type, { UserName: "gwen", Access: "write" }, { [updated]: "gwen", "grant.created": "ann gwen boss" }),
        given(type, { UserName: "guy", Access: "use" }, { [updated]: "guy", "grant.created": "ann guy boss" }),
        given(type, { UserName: "gil" }, { [updated]: "gil", "grant.created": "ann gil boss" }),
        put(type, { Comment: "c" }, { [updated]: "ann gwen guy gil boss" }),
        removed(type, { [deleted]: "ann gwen guy gil boss" }),
        restored(type, { [back]: "ann gwen guy gil boss" }),
        takenBack({ [deleted]: "gil", "grant.deleted": "ann gil boss" }),
        given(type, { UserName: "guy", Access: "read" }, { [updated]: "guy", "grant.updated": "ann guy boss" }),
        put(type, { Comment: "d" }, { [updated]: "ann gwen guy boss" }),
      ],
    },
    {
      says: `${a} that is granted to a group`,
      steps: [
        made(type, {}, { [created]: "ann boss" }),
        given(type, { GroupName: "lab" }, { [updated]: "mia", "grant.created": "ann mia boss" }, "boss"),
        put(type, { Comment: "c" }, { [updated]: "ann mia boss" }),
        takenBack({ [deleted]: "mia", "grant.deleted": "ann mia boss" }),
        put(type, { Comment: "d" }, { [updated]: "ann boss" }),
      ],
    },
    {
      says: `${a} that is handed over`,
      steps: [
        made(type, {}, { [created]: "ann boss" }),
        put(type, { UserName: "bob" }, { [updated]: "bob boss", [deleted]: "ann" }, "boss"),
        put(type, { Comment: "c" }, { [updated]: "bob boss" }, "bob"),
      ],
    },
  ]
}

const groupsProject: Story = {
  says: "a group's project",
  steps: [
    made("project", { UserName: "ann", GroupName: "lab" }, { "project.created": "ann mia boss" }, "boss"),
    put("project", { Comment: "c" }, { "project.updated": "ann mia boss" }),
    removed("project", { "project.deleted": "ann mia boss" }),
    restored("project", { "project.restored": "ann mia boss" }),
    put("project", { GroupName: "" }, { "project.updated": "ann boss", "project.deleted": "mia" }),
    put("project", { GroupName: "lab" }, { "project.updated": "ann mia boss" }, "boss"),
    put("project", { GroupName: "", IsPublic: true }, { "project.updated": everybody }),
  ],
}

/**
 * Bob comes when una goes; both are in no other group. An image is granted to the group, and a
 * project is the group's.
 */
function membership(): Story {
  const GroupName = fresh("crew")
  return {
    says: "a group's comings and goings",
    steps: [
      {
        says: "made",
        async does(stage) {
          return { type: "group", id: (await as(stage, "boss").createGroup({ body: { GroupName, Members: ["una"] } })).ID }
        },
        tells: { "group.created": "una boss" },
      },
      made("image", {}, { "image.created": "ann boss" }),
      given("image", { GroupName }, { "image.updated": "una", "grant.created": "ann una boss" }, "boss"),
      made("project", { UserName: "ann", GroupName }, { "project.created": "ann una boss" }, "boss"),
      members(["una", "bob"], { "group.updated": "una bob boss", "project.updated": "bob", "image.updated": "bob" }),
      put("image", { Comment: "c" }, { "image.updated": "ann una bob boss" }),
      members(["bob"], { "group.updated": "bob boss", "group.deleted": "una", "project.deleted": "una", "image.deleted": "una" }),
      put("image", { Comment: "d" }, { "image.updated": "ann bob boss" }),
      put("project", { Comment: "d" }, { "project.updated": "ann bob boss" }),
      {
        says: "the group is deleted",
        async does(stage, things) {
          await as(stage, "boss").deleteGroup({ query: { ID: inGroup(things) } })
          return undefined
        },
        tells: { "group.deleted": "bob boss", "project.deleted": "bob", "image.deleted": "bob" },
      },
      put("image", { Comment: "e" }, { "image.updated": "ann boss" }),
    ],
  }
}

const states = (names: readonly string[], people: string) => Object.fromEntries(names.map((name) => [`run.state ${name}`, people]))
const starting = ["pulling", "creating", "starting", "ready"]
const over = (code: string) => [`stopping because ${code}`, `ended because ${code}`]

const runs: Story[] = [
  {
    says: "a run of somebody else's project",
    steps: [
      made("project", { IsPublic: true }, { "project.created": everybody }),
      started("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss") }),
      given("run", { UserName: "gil" }, { "run.updated": "gil", "grant.created": "bob gil boss" }, "bob"),
      given("run", { UserName: "gwen", Access: "write" }, { "run.updated": "gwen", "grant.created": "bob gwen boss" }, "bob"),
      takenBack({ "run.deleted": "gwen", "grant.deleted": "bob gwen boss" }, "bob"),
      // The project's owner sees that it is over, not why.
      stopped("bob", {
        ...states(["stopping", "ended"], "ann"),
        ...states(over("stopped_by_user"), "bob gil boss"),
      }),
    ],
  },
  {
    says: "a run of one's own project",
    steps: [
      made("project", {}, { "project.created": "ann boss" }),
      // Datasets are handed over in this step; a run that can write to the home that they are in
      // would keep them there.
      put("project", { Comment: "c" }, { "project.updated": "ann boss" }),
      started("ann", {}, { "run.created": "ann boss", ...states(starting, "ann boss") }),
      stopped("ann", states(over("stopped_by_user"), "ann boss")),
    ],
  },
  {
    says: "a run of a project that is withdrawn and handed over",
    steps: [
      made("project", { IsPublic: true }, { "project.created": everybody }),
      started("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss") }),
      put("project", { IsPublic: false }, { "project.updated": "ann boss", "project.deleted": strangers }),
      put(
        "project",
        { UserName: "mia" },
        { "project.updated": "mia boss", "project.deleted": "ann", "run.updated": "mia", "run.deleted": "ann" },
        "boss",
      ),
      // Somebody else ended it: its starter is told so.
      stopped("boss", {
        ...states(["stopping", "ended"], "mia"),
        ...states(over("stopped_by_admin"), "bob boss"),
      }),
    ],
  },
  {
    says: "a run whose image is fetched first",
    steps: [
      made("image", { Image: "fake/http:fetched", IsPublished: true }, { "image.created": everybody }),
      {
        says: "a project with it is made",
        async does(stage, things) {
          const body = { ProjectName: "n", Type: "http", ImageID: idOf(things, "image"), IsPublic: true }
          return { type: "project", id: (await as(stage, "ann").createProject({ body })).ID }
        },
        tells: { "project.created": everybody },
      },
      // How it goes is no business of the project's owner.
      started("bob", {}, { "run.created": "bob ann boss", ...states(starting, "bob ann boss"), "run.progress Progress": "bob boss" }),
    ],
  },
  {
    says: "a run that cannot start",
    steps: [
      made("project", { IsPublic: true }, { "project.created": everybody }),
      started(
        "bob",
        { Cpus: 100_000 },
        { "run.created": "bob ann boss", "run.state failed": "ann", "run.state failed because insufficient_cpu": "bob boss" },
      ),
    ],
  },
]

const accounts: Story[] = [
  {
    says: "somebody's account",
    steps: [
      {
        says: "made",
        async does(stage) {
          return { type: "user", id: (await as(stage, "boss").createUser({ body: { UserName: fresh("new") } })).ID }
        },
        tells: { "user.created": "boss" },
      },
      {
        says: "changed",
        async does(stage, things) {
          await as(stage, "boss").updateUser({ body: { ID: idOf(things, "user"), Comment: "c" } })
          return undefined
        },
        tells: { "user.updated": "boss" },
      },
      {
        says: "deleted",
        async does(stage, things) {
          await as(stage, "boss").deleteUser({ query: { ID: idOf(things, "user") } })
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
        async does(stage) {
          const { ID } = await as(stage, "boss").readUser({ query: { UserName: "gil" } })
          await as(stage, "boss").updateUser({ body: { ID, Comment: "c" } })
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
        async does(stage) {
          return { type: "token", id: (await as(stage, "ann").createToken({ body: { Name: "t" } })).ID }
        },
        tells: { "token.created": "ann" },
      },
      {
        says: "revoked",
        async does(stage, things) {
          await as(stage, "ann").deleteToken({ query: { ID: idOf(things, "token") } })
          return undefined
        },
        tells: { "token.deleted": "ann" },
      },
    ],
  },
]

export const stories: readonly Story[] = [
  ...ofOwned("image"),
  ...ofOwned("data"),
  ...ofOwned("project"),
  groupsProject,
  ...runs,
  ...accounts,
]

const grantedAlone: Story = {
  says: "an image that is granted while nothing else happens",
  steps: [
    made("image", {}, { "image.created": "ann boss" }),
    given("image", { UserName: "bob" }, { "image.updated": "bob", "grant.created": "ann bob boss" }),
    put("image", { Comment: "c" }, { "image.updated": "ann bob boss" }),
  ],
}

/**
 * What is told of when nothing else is: people whom nothing else concerns are told together with
 * others of the same groups.
 */
export const storiesAlone: readonly Story[] = [grantedAlone, membership()]
