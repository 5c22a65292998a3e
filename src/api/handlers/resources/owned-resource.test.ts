import assert from "node:assert/strict"
import { test } from "node:test"
import type { Caller } from "#access"
import type { Fields } from "#contract"
import type { HandlerContext } from "../../context.ts"
import { type ResourceDefinition, readResource } from "./owned-resource.ts"

const reader: Caller = {
  ...{ userId: 2, userName: "bob", isAdmin: false, groupIds: [], groupNames: [], scopes: ["read"] },
  credential: { kind: "token", id: "token:1" },
}

test("what is found by a long search is not read when it was hidden meanwhile", async () => {
  const row = { id: 1, createdAt: 0, updatedAt: 0, deletedAt: null, version: 1, userId: 1, userName: "ann", isPublished: true }
  const reads = { list: async () => ({ rows: [row], total: 1 }), get: async () => row, getMany: async () => [row] }
  const kind = {
    ...{ type: "image", label: "image", columns: {}, reads: () => reads },
    resource: ({ isPublished }: typeof row) => ({ type: "image", id: 1, ownerId: 1, published: isPublished }),
    toResponses: async () => [{ ID: 1, Doc: "a secret" }],
    toSummaries: async () => {
      row.isPublished = false
      return { responses: [{ ID: 1, Computed: "yes" }] }
    },
  } as unknown as ResourceDefinition<typeof row, object, Fields>
  const context = {
    caller: reader,
    services: { store: { grants: { accessFor: async () => [] } }, identity: { refreshCaller: async () => reader } },
    server: { scans: { run: (_: number, work: () => unknown) => work() } },
    setHeader: () => {},
    query: { Computed: "yes" },
  } as unknown as HandlerContext & { query: object }
  await assert.rejects(readResource(kind, context), { code: "not_found" })
})
