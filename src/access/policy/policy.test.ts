import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { Scope } from "../caller.ts"
import { can, type Decision, type PolicyGrant, type Principal, type Resource } from "./policy.ts"
import { type Action, actions, rights } from "./rights.ts"

const ownerId = 1
const groupId = 7
const resourceId = 50

const actor = (userId: number, more: Partial<Principal> = {}): Principal => ({
  userId,
  isAdmin: false,
  groupIds: [],
  scopes: ["read", "write"],
  ...more,
})
const owner = actor(ownerId)
const other = actor(2)
const member = actor(3, { groupIds: [6, groupId] })
const admin = actor(4, { isAdmin: true })

/** The columns of the specification's table, each made in every way there is. */
const columns: Record<string, [Principal, Partial<Resource>][]> = {
  owner: [[owner, {}]],
  write: granted("write"),
  use: [...granted("use"), [other, { published: true }], [member, { groupId }]],
  read: granted("read"),
  administrator: [[admin, {}]],
  stranger: [
    [other, {}],
    [member, {}],
    [member, { groupId: 9 }],
    [other, { groupId }],
    [other, { grants: [{ access: "write", userId: 3 }] }],
    [other, { grants: [{ access: "write", groupId: 6 }] }],
    [other, { grants: [{ access: "write", groupId: 0 }] }],
  ],
}

function granted(access: PolicyGrant["access"]): [Principal, Partial<Resource>][] {
  return [
    [other, { grants: [{ access, userId: other.userId }] }],
    [member, { grants: [{ access, groupId: 6 }] }],
    [
      other,
      {
        grants: [
          { access: "read", userId: 99 },
          { access, userId: other.userId },
        ],
      },
    ],
  ]
}

/**
 * Written by hand from the specification. y: yes, n: forbidden, h: hidden; in the order of
 * `columns`.
 */
const order = ["owner", "write", "use", "read", "administrator", "stranger"] as const
const table = {
  //                owner write use read admin stranger
  "image:read": "y y y y y h",
  "image:refer": "y y y y y h",
  "image:check": "y y y y y h",
  "image:use": "y y y n y h",
  "image:pull": "y y y n y h",
  "image:change": "y y n n y h",
  "image:delete": "y n n n y h",
  "image:publish": "y n n n y h",
  "image:restore": "y n n n y h",
  "image:grant": "y n n n y h",
  "image:trust": "n n n n y h",
  "image:transferOwnership": "n n n n y h",
  "data:read": "y y y y y h",
  "data:refer": "y y y y y h",
  "data:readFiles": "y y y y y h",
  "data:writeFiles": "y y n n y h",
  "data:change": "y n n n y h",
  "data:delete": "y n n n y h",
  "data:publish": "y n n n y h",
  "data:restore": "y n n n y h",
  "data:grant": "y n n n y h",
  "data:transferOwnership": "n n n n y h",
  "project:read": "y y y y y h",
  "project:refer": "y y y y y h",
  "project:copy": "y y y y y h",
  "project:start": "y y y n y h",
  "project:preview": "y y y n y h",
  "project:change": "y y n n y h",
  "project:delete": "y n n n y h",
  "project:publish": "y n n n y h",
  "project:restore": "y n n n y h",
  "project:grant": "y n n n y h",
  "project:release": "y n n n y h",
  "project:trust": "n n n n y h",
  "project:transferOwnership": "n n n n y h",
  "run:read": "y y y y y h",
  "run:details": "y y y y y h",
  "run:stats": "y y y y y h",
  "run:logs": "y y n n n h",
  "run:open": "y y y n n h",
  "run:control": "y y n n n h",
  "run:keep": "y y n n n h",
  "run:stop": "y y n n y h",
  "run:repeat": "y n n n n h",
  "run:grant": "y n n n y h",
} as const satisfies Partial<Record<Action, string>>

const meaning: Record<string, Decision> = { y: "yes", n: "forbidden", h: "hidden" }

function resource(action: string, more: Partial<Resource> = {}): Resource {
  return { type: action.split(":")[0] as Resource["type"], id: resourceId, ownerId, ...more }
}

describe("the policy", () => {
  for (const [action, line] of Object.entries(table) as [Action, string][]) {
    it(`answers ${action} as the table says`, () => {
      for (const [i, column] of order.entries()) {
        for (const [who, made] of columns[column] ?? []) {
          // Runs are neither published nor a group's: only grants on the run itself count.
          if (action.startsWith("run:") && ("published" in made || "groupId" in made) && column === "use") continue
          assert.equal(can(who, action, resource(action, made)), meaning[line.split(" ")[i] ?? ""], `${column} ${JSON.stringify(made)}`)
        }
      }
    })
  }

  it("has an expectation for every action on a resource with an owner", () => {
    const collections = ["list", "create"]
    const expected = actions.filter(
      (action) => /^(image|data|project|run):/.test(action) && !collections.includes(action.split(":")[1] ?? ""),
    )
    const others = ["run:start", "run:preview"]
    assert.deepEqual(
      expected.filter((action) => !(action in table) && !others.includes(action)),
      [],
    )
  })

  it("finds deleted resources only for people who may restore them, and inside objects that refer to them", () => {
    for (const type of ["image", "data", "project"] as const) {
      const removed: Resource = { type, id: resourceId, ownerId, deleted: true, published: true }
      const verbs = Object.keys(rights[type]).filter((verb) => !["restore", "refer", "list", "create"].includes(verb))
      for (const verb of verbs) {
        for (const who of [owner, other, admin]) assert.equal(can(who, `${type}:${verb}` as Action, removed), "hidden", `${type}:${verb}`)
      }
      assert.deepEqual(
        [owner, admin, other].map((who) => can(who, `${type}:restore`, removed)),
        ["yes", "yes", "hidden"],
      )
      assert.deepEqual(
        [owner, admin, other].map((who) => can(who, `${type}:refer`, removed)),
        ["yes", "yes", "yes"],
      )
      assert.equal(can(other, `${type}:refer`, { ...removed, published: false }), "hidden")
    }
  })

  it("shows the project's owner that somebody runs it and nothing more", () => {
    const run: Resource = { type: "run", id: 5, ownerId: 2, projectOwnerId: ownerId }
    assert.equal(can(owner, "run:read", run), "yes")
    assert.equal(can(member, "run:read", run), "hidden", "not their project")
    for (const verb of Object.keys(rights.run)) {
      if (["read", "list", "start", "preview"].includes(verb)) continue
      assert.equal(can(owner, `run:${verb}` as Action, run), "forbidden", verb)
    }
  })

  it("opens a run to an administrator by a grant only", () => {
    const run: Resource = { type: "run", id: 5, ownerId }
    assert.equal(can(admin, "run:open", run), "forbidden")
    assert.equal(can(admin, "run:open", { ...run, grants: [{ access: "write", userId: admin.userId }] }), "yes")
  })

  it("lets people create resources for themselves, and administrators for anybody", () => {
    for (const type of ["image", "data", "project"] as const) {
      assert.equal(can(other, `${type}:create`, { type, ownerId: other.userId }), "yes")
      assert.equal(can(other, `${type}:create`, { type, ownerId }), "forbidden")
      assert.equal(can(admin, `${type}:create`, { type, ownerId }), "yes")
    }
    assert.equal(can(admin, "token:create", { type: "token", ownerId }), "forbidden")
  })

  it("shows accounts only to their owners and administrators", () => {
    const account: Resource = { type: "user", id: ownerId, ownerId }
    const line = (action: Action) => [owner, other, admin].map((who) => can(who, action, account))
    assert.deepEqual(line("user:read"), ["yes", "hidden", "yes"])
    assert.deepEqual(line("user:change"), ["yes", "hidden", "yes"])
    assert.deepEqual(line("user:administer"), ["forbidden", "hidden", "yes"])
    assert.deepEqual(line("user:delete"), ["forbidden", "hidden", "yes"])
    assert.equal(can(admin, "user:read", { ...account, deleted: true }), "hidden")
  })

  it("shows groups to their members, and lets administrators change them", () => {
    const group: Resource = { type: "group", id: groupId, groupId }
    const line = (action: Action) => [member, other, admin].map((who) => can(who, action, group))
    assert.deepEqual(line("group:read"), ["yes", "hidden", "yes"])
    assert.deepEqual(line("group:change"), ["forbidden", "hidden", "yes"])
    assert.deepEqual(line("group:delete"), ["forbidden", "hidden", "yes"])
  })

  it("shows tokens only to their owners", () => {
    const token: Resource = { type: "token", id: 1, ownerId }
    for (const action of ["token:read", "token:delete"] as const) {
      assert.deepEqual(
        [owner, other, admin].map((who) => can(who, action, token)),
        ["yes", "hidden", "hidden"],
      )
    }
  })

  it("answers without a resource whether any could allow the action", () => {
    const administrators: Action[] = [
      "user:create",
      "user:list",
      "user:delete",
      "group:create",
      "group:change",
      "audit:list",
      "idle:list",
      "storedImage:list",
      "settings:read",
      "metrics:read",
    ]
    for (const action of administrators) {
      assert.equal(can(other, action), "forbidden", action)
      assert.equal(can(admin, action), "yes", action)
    }
    const everyones: Action[] = [
      "image:list",
      "image:create",
      "image:change",
      "user:read",
      "user:change",
      "group:list",
      "self:read",
      "run:start",
    ]
    for (const action of everyones) assert.equal(can(other, action), "yes", action)
  })
})

describe("a token's scopes", () => {
  const scoped = (...scopes: Scope[]) => actor(ownerId, { scopes, isAdmin: true, groupIds: [groupId] })

  it("let a read-only token only read", () => {
    const reading = /:(list|read|refer|check|readFiles|details|stats|logs|preview|filesToken)$/
    for (const action of actions) {
      const expected = reading.test(action) ? "yes" : "forbidden"
      assert.equal(can(scoped("read"), action), expected, action)
    }
  })

  it("let a run's token only open that run", () => {
    const token = scoped("run:5")
    for (const action of actions) {
      const type = action.split(":")[0] as Resource["type"]
      const own: Resource = { type, id: 5, ownerId, groupId }
      assert.equal(can(token, action, own), action === "run:open" ? "yes" : "forbidden", action)
      if (action !== "run:open") assert.equal(can(token, action), "forbidden", action)
    }
    assert.equal(can(token, "run:open", { type: "run", id: 6, ownerId }), "forbidden")
    assert.equal(can(token, "run:open", { type: "run", id: 5, ownerId: 9 }), "forbidden", "an administrator's relation opens no run")
    assert.equal(can(actor(ownerId, { scopes: ["run:5"] }), "run:open", { type: "run", id: 5, ownerId: 9 }), "hidden")
  })

  it("apply to one's own resources, too", () => {
    const own: Resource = { type: "image", id: 1, ownerId }
    assert.equal(can(actor(ownerId, { scopes: ["read"] }), "image:read", own), "yes")
    assert.equal(can(actor(ownerId, { scopes: ["read"] }), "image:change", own), "forbidden")
  })

  it("do not reveal hidden resources", () => {
    assert.equal(can(actor(2, { scopes: ["read"] }), "image:delete", { type: "image", id: 1, ownerId }), "hidden")
  })
})

describe("the table of rights", () => {
  it("names every action once and refuses unknown ones", () => {
    assert.equal(new Set(actions).size, actions.length)
    for (const wrong of ["image:fly", "nothing:read", "__proto__:read", "image:__proto__", "constructor:name"]) {
      assert.throws(() => can(owner, wrong as Action), /table of rights/)
    }
  })
})
