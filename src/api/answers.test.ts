import assert from "node:assert/strict"
import { test } from "node:test"
import type { Answer, AnswerValues, Body, LogLine, QueryOf, User, userFields } from "#contract"
import { EventStream, JsonLines, LongList, SerializedJson } from "./answer-forms.ts"
import type { HandlerResult, Handlers, OperationContext } from "./context.ts"

type IsEqual<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <T extends true>(..._: T[]) => {}

const noLines = async function* (): AsyncGenerator<LogLine> {}

/** The compiler tests these: a directive without an error below it does not compile. */
const rejected: Partial<Handlers>[] = [
  // @ts-expect-error: `ok` is a boolean
  { healthz: () => ({ ok: "yes" }) },
  // @ts-expect-error: `UserName` and others are missing
  { readUser: async () => ({ ID: 1 }) },
  // @ts-expect-error: a list is no object
  { listUsers: async () => [] },
  // @ts-expect-error: groups are not users
  { listUsers: async (): Promise<HandlerResult<"listGroups">> => ({ data: [], page: 1, pageCount: 0, pageSize: 20 }) },
  // @ts-expect-error: a page is a text
  { docs: () => ({ ok: true }) },
  // @ts-expect-error: the answer of a deletion is `ok: true`
  { deleteImage: async () => ({ ok: false }) },
  // @ts-expect-error: the serialized value has another shape
  { healthz: () => new SerializedJson({ ok: 1 }) },
  // @ts-expect-error: the slices contain numbers, not images
  { listImages: async () => new LongList<number>({ page: 1, pageCount: 1, pageSize: 20 }, 1, async () => [1]) },
  // @ts-expect-error: a line lacks `time` and `stream`
  { runLogs: async ({ signal }) => new JsonLines(wrongLines(), { isLive: true, signal }) },
  // @ts-expect-error: events are no lines
  { followEvents: ({ signal }) => new JsonLines(noLines(), { isLive: true, signal }) },
  // @ts-expect-error: the operation needs no credentials, so the caller may be undefined
  { healthz: ({ caller }) => ({ ok: caller.isAdmin }) },
  // @ts-expect-error: the query has no such parameter
  { readUser: async ({ query }) => query.Password },
  // @ts-expect-error: a body sets no time of creation
  { createUser: async ({ body }) => body.CreatedAt },
]

async function* wrongLines() {
  yield { text: "a" }
}

test("a handler compiles only with the answer of its operation", () => {
  const accepted: Partial<Handlers> = {
    healthz: () => new SerializedJson({ ok: true }),
    runLogs: async ({ signal }) => new JsonLines(noLines(), { isLive: true, signal }),
    followEvents: () => new EventStream(async () => () => {}),
    listImages: async () => new LongList({ page: 1, pageCount: 1, pageSize: 20 }, 0, async () => []),
  }
  assert.equal(rejected.length + Object.keys(accepted).length, 17)
})

test("types of answers, bodies and queries follow from the table", () => {
  holds<IsEqual<Answer<"deleteUser">, { ok: true }>>()
  holds<IsEqual<Answer<"readUser">, User>>()
  holds<IsEqual<"Password" extends keyof AnswerValues<typeof userFields> ? true : false, false>>()
  holds<IsEqual<Body<"createSession">, { UserName: string; Password: string }>>()
  holds<IsEqual<Body<"readUser">, undefined>>()
  holds<IsEqual<QueryOf<"readUser">["ID"], number | undefined>>()
  holds<IsEqual<OperationContext<"healthz">["caller"], undefined>>()
})
