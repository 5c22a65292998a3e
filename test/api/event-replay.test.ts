import assert from "node:assert/strict"
import { test } from "node:test"
import { basicAuth, bearerAuth, type Client, createClient, followEvents, type ServerEvent } from "#client"
import { Failure } from "#contract"
import { eventually } from "../fixtures/eventually.ts"
import { startServerProcess } from "../server-process.ts"
import { newDatabase } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"

/** How often the process is killed, and how many changes each writer has acknowledged before. */
const kills = 3
const between = 25
const writers = 4

/**
 * Makes images in succession until it is stopped; returns the acknowledged ones, in order. A
 * request that the process did not survive may have succeeded or not.
 */
function write(client: Client, stop: AbortSignal): { acknowledged: number[]; ended: Promise<void> } {
  const acknowledged: number[] = []
  const ended = (async () => {
    while (!stop.aborted) {
      try {
        acknowledged.push((await client.createImage({ body: { Name: "n", Image: "a" } })).ID)
      } catch (error) {
        if (error instanceof Failure && error.status < 500) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  })()
  return { acknowledged, ended }
}

async function allImages(client: Client): Promise<number[]> {
  const ids: number[] = []
  for (let page = 1; ; page += 1) {
    const { data, pageCount } = await client.listImages({ query: { page, pageSize: 200 } })
    ids.push(...data.map(({ ID }) => ID))
    if (page >= pageCount) return ids.sort((a, b) => a - b)
  }
}

/** Every reader received each image once, in the same order, and each writer's in theirs. */
function assertReplays(existing: number[], streams: ServerEvent[][], written: number[][]): void {
  for (const received of streams) {
    const ids = received.map(({ id }) => Number(id))
    assert.ok(
      ids.every((id, i) => i === 0 || id > (ids[i - 1] as number)),
      "ids grow",
    )
    assert.deepEqual(new Set(received.map(({ event }) => event)), new Set(["image.created"]))
    const created = received.map(({ data }) => data.ID ?? 0)
    assert.deepEqual(
      created.toSorted((a, b) => a - b),
      existing,
    )
    for (const acknowledged of written) {
      const own = new Set(acknowledged)
      assert.deepEqual(
        created.filter((id) => own.has(id)),
        acknowledged,
      )
    }
    assert.deepEqual(received, streams[0])
  }
}

test("a reader that resumes after its last event gets every event once in commit order, despite kills of the process", {
  timeout: 120_000,
}, async () => {
  const database = process.env.TEST_POSTGRES ? await newDatabase(process.env.TEST_POSTGRES) : undefined
  await using stack = new AsyncDisposableStack()
  if (database) stack.defer(() => database.drop())
  const server = stack.use(
    await startServerProcess({ QUAYSIDE_ENGINE: "fake", ...(database ? { QUAYSIDE_DATABASE_URL: database.url } : {}) }),
  )
  const { baseUrl } = server
  const { Token } = await createClient({ baseUrl, authorization: basicAuth("admin", server.password) }).createToken({ body: { Name: "t" } })
  const client = createClient({ baseUrl, authorization: bearerAuth(Token) })
  const first = await recordEvents(client)
  await eventually("the stream's position arrives", () => first.lastEventId !== "")
  const { lastEventId } = first
  await first[Symbol.asyncDispose]()

  const stop = new AbortController()
  const readers = Array.from({ length: 3 }, (_, i) => {
    const received: ServerEvent[] = []
    const ended = (async () => {
      for await (const event of followEvents(client, { signal: stop.signal, after: lastEventId, waitMs: 10 + 100 * i }))
        received.push(event)
    })()
    return { received, ended }
  })
  const stopWriting = new AbortController()
  const writes = Array.from({ length: writers }, () => write(client, stopWriting.signal))
  for (let i = 1; i <= kills; i += 1) {
    const areEnough = () => writes.every(({ acknowledged }) => acknowledged.length >= between * i)
    await eventually("enough is written", areEnough, 60_000)
    await server.kill("SIGKILL")
    await server.start()
  }
  stopWriting.abort()
  await Promise.all(writes.map(({ ended }) => ended))
  const { ID: last } = await client.createImage({ body: { Name: "last", Image: "a" } })
  for (const { received } of readers) await eventually("the last event arrives", () => received.at(-1)?.data.ID === last, 30_000)

  assertReplays(
    await allImages(client),
    readers.map(({ received }) => received),
    writes.map(({ acknowledged }) => acknowledged),
  )
  stop.abort()
  await Promise.all(readers.map(({ ended }) => ended))
})
