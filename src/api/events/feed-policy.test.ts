import assert from "node:assert/strict"
import { test } from "node:test"
import type { Caller, Identity, Resource } from "#access"
import type { JournalRow, Store } from "#store"
import { createFeedPolicy } from "./feed-policy.ts"

const policy = createFeedPolicy({ store: {} as Store, identity: {} as Identity })

const rowOf = (resource: Resource, visibility = {}): JournalRow => {
  const { type, id = 0 } = resource
  return { id: 1, at: 0, event: `${type}.updated`, data: { ID: id }, resource: { type, id }, visibility }
}

const callerOf = (userId: number, more: Partial<Caller> = {}): Caller => ({
  ...{ userId, userName: `person${userId}`, isAdmin: false, groupIds: [], groupNames: [], scopes: ["read", "write"] },
  credential: { kind: "session", id: `s${userId}` },
  ...more,
})

test("many rows about one resource name its grantees once", () => {
  const grants = [2, 3].map((userId) => ({ access: "read" as const, userId }))
  const image: Resource = { type: "image", id: 7, ownerId: 1, grants }
  assert.deepEqual([...policy.affectedUsers(Array(500).fill(rowOf(image)), new Map([["image 7", image]]))], [1, 2, 3])
})

/** Rows that one member of an audience sees, and another does not. */
const rows: [string, Resource | undefined, JournalRow][] = [
  ["an owner", { type: "image", id: 7, ownerId: 2 }, rowOf({ type: "image", id: 7 })],
  ["a grantee", { type: "image", id: 7, ownerId: 1, grants: [{ access: "read", userId: 2 }] }, rowOf({ type: "image", id: 7 })],
  ["the owner of a run's project", { type: "run", id: 7, ownerId: 1, projectOwnerId: 2 }, rowOf({ type: "run", id: 7 })],
  ["the owner of what is deleted", undefined, rowOf({ type: "image", id: 7 }, { was: { type: "image", id: 7, ownerId: 2 } })],
  ["a person to whom the row is addressed", undefined, rowOf({ type: "grant", id: 7 }, { to: [2] })],
]

for (const [who, resource, row] of rows) {
  test(`an event of ${who} is not shared with an audience that may not see it`, () => {
    const resources = new Map(resource ? [[`${resource.type} ${resource.id}`, resource]] : [])
    const affected = new Set(policy.affectedUsers([row], resources))
    for (const groupIds of [[], [5]]) {
      const [affectedOne, other] = [callerOf(2, { groupIds }), callerOf(3, { groupIds })]
      assert.equal(policy.audienceOf(affectedOne), policy.audienceOf(other))
      assert.notEqual(policy.visibilityOf(affectedOne, row, resources), "none")
      assert.equal(policy.visibilityOf(other, row, resources), "none")
      assert.ok(affected.has(affectedOne.userId))
    }
  })
}

test("an event about a grant to a group is for its members, whatever they see now, and not for administrators", () => {
  const row = rowOf({ type: "image", id: 7 }, { toGroup: 5 })
  const of = (caller: Caller, resources = new Map<string, Resource>()) => policy.visibilityOf(caller, row, resources)
  const [member, other] = [callerOf(2, { groupIds: [4, 5] }), callerOf(3, { groupIds: [4] })]
  const administrators = [callerOf(4, { isAdmin: true, groupIds: [5] }), callerOf(5, { isAdmin: true })]
  assert.deepEqual([of(member), of(other), ...administrators.map((each) => of(each))], ["gone", "none", "none", "none"])
  const seen = new Map<string, Resource>([["image 7", { type: "image", id: 7, ownerId: 1, grants: [{ access: "read", groupId: 5 }] }]])
  assert.deepEqual([of(member, seen), of(other, seen), of(callerOf(1), seen)], ["whole", "none", "none"])
  assert.deepEqual([...policy.affectedUsers([row], new Map())], [])
})

test("members of a group, and others, are different audiences", () => {
  const project: Resource = { type: "project", id: 7, ownerId: 1, groupId: 5 }
  const resources = new Map([["project 7", project]])
  const [member, other] = [callerOf(2, { groupIds: [5] }), callerOf(3)]
  assert.equal(policy.visibilityOf(member, rowOf(project), resources), "whole")
  assert.equal(policy.visibilityOf(other, rowOf(project), resources), "none")
  assert.notEqual(policy.audienceOf(member), policy.audienceOf(other))
})
