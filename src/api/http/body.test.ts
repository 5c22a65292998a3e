import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import { test } from "node:test"
import { bounds } from "#contract"
import { checkSize, readJson } from "./body.ts"

const { bodyValues, plainBodyBytes, largeBodies, waitingLargeBodies } = bounds.texts

const ofLength = (length: number) => Buffer.from(JSON.stringify("x".repeat(length - 2)))

const read = (body: Buffer, userId?: number) => {
  const headers = { "content-type": "application/json", "content-length": String(body.length) }
  const request = Object.assign(Readable.from([body]), { headers }) as unknown as IncomingMessage
  return readJson(request, { maxBytes: body.length, use: (json) => json }, userId)
}

/** In which turn of the event loop, counted from now, each body is parsed. */
async function turnsOf(bodies: readonly Promise<unknown>[]): Promise<number[]> {
  let turn = 0
  const count = () => {
    turn += 1
    counter = setImmediate(count)
  }
  let counter = setImmediate(count)
  const turns = await Promise.all(bodies.map((body) => body.then(() => turn)))
  clearImmediate(counter)
  return turns
}

test("large bodies are parsed one in each turn of the event loop, and people alternate", async () => {
  const large = ofLength(plainBodyBytes.value + 1)
  const [first = 0, second = 0, third = 0, other = 0] = await turnsOf([read(large, 1), read(large, 1), read(large, 1), read(large, 2)])
  assert.equal(new Set([first, second, third, other]).size, 4)
  assert.ok(other < third, `another person's body was parsed in turn ${other}, after ${first}, ${second} and ${third}`)
})

test("others run while a large body is parsed, which gives the same as at once", async (t) => {
  const text = JSON.stringify("\ufeffé€🚢".repeat(100_000))
  let now = 0
  t.mock.method(performance, "now", () => (now += 0.5))
  let turns = 0
  const count = () => {
    turns += 1
    counter = setImmediate(count)
  }
  let counter = setImmediate(count)
  const parsed = await read(Buffer.from(text), 1)
  clearImmediate(counter)
  assert.equal(parsed, JSON.parse(text))
  assert.ok(turns > 20, `the body took ${turns} turns`)
  const broken = Buffer.concat([Buffer.from('"'), Buffer.alloc(100_000, 0xc3), Buffer.from('"')])
  await assert.rejects(read(broken, 1), { code: "invalid", message: "The body must be UTF-8" })
})

test("few large bodies of a person are read at once, others wait unread, and another person's are read", async () => {
  const maxBytes = plainBodyBytes.value + 1
  const begin = (length: number | undefined, userId: number) => {
    const headers = { "content-type": "application/json", ...(length ? { "content-length": length } : { "transfer-encoding": "chunked" }) }
    const request = Object.assign(new Readable({ read() {} }), { headers })
    return { request, done: readJson(request as unknown as IncomingMessage, { maxBytes, use: (json) => json }, userId) }
  }
  const isRead = ({ request }: { request: Readable }) => request.listenerCount("data") > 0
  const all = Array.from({ length: largeBodies.value + waitingLargeBodies.value }, (_, i) => begin(i % 2 ? maxBytes : undefined, 5))
  const ended = Promise.allSettled(all.map(({ done }) => done))
  await assert.rejects(begin(maxBytes, 5).done, { status: 429 })
  assert.equal(all.filter(isRead).length, largeBodies.value)
  const others = [begin(10, 5), begin(maxBytes, 6)]
  assert.ok(others.every(isRead))
  for (const { request } of [...all, ...others]) request.push("{}")
  for (const { request } of [...all, ...others]) request.push(null)
  await Promise.all(others.map(({ done }) => done))
  assert.ok((await ended).every(({ status }) => status === "fulfilled"))
})

test("other bodies are parsed at once", async () => {
  const small = ofLength(plainBodyBytes.value)
  const turns = await turnsOf([read(small, 1), read(small, 1), read(small, 2)])
  assert.equal(new Set(turns).size, 1)
})

test("a body holds a bounded number of values, in arrays and objects, at all levels together", async () => {
  const max = bodyValues.value
  const numbers = (count: number) => Buffer.from(JSON.stringify(Array.from({ length: count }, () => 0)))
  const members = (count: number) =>
    Buffer.from(JSON.stringify({ a: Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 0])) }))
  const refused = { code: "invalid", message: `The body may hold ${max.toLocaleString("en")} values at most` }
  checkSize(numbers(max - 1))
  checkSize(members(max - 2))
  assert.throws(() => checkSize(numbers(max)), refused)
  assert.throws(() => checkSize(members(max - 1)), refused)
  await assert.rejects(read(numbers(max)), refused)
  checkSize(Buffer.from(JSON.stringify('[{,}]\\"'.repeat(max))))
})

test("few large bodies of a person are in memory, however long their requests wait afterwards", async () => {
  const gate = Promise.withResolvers<void>()
  let inUse = 0
  const use = async () => {
    inUse += 1
    await gate.promise
  }
  const begin = (length: number, isCounted: boolean) => {
    const body = ofLength(length)
    const headers = { "content-type": "application/json", ...(isCounted ? { "content-length": String(body.length) } : {}) }
    const request = Object.assign(Readable.from([body]), { headers: isCounted ? headers : { ...headers, "transfer-encoding": "chunked" } })
    return readJson(request as unknown as IncomingMessage, { maxBytes: 2 ** 20, use }, 9)
  }
  const large = Array.from({ length: 10 }, (_, i) => begin(plainBodyBytes.value + 1, i % 2 === 0))
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.equal(inUse, largeBodies.value)
  gate.resolve()
  await Promise.all(large)
  assert.equal(inUse, 10)
})

test("a short body without a length does not count as large once it is read", async () => {
  const gate = Promise.withResolvers<void>()
  let inUse = 0
  const use = async () => {
    inUse += 1
    await gate.promise
  }
  const short = Array.from({ length: 10 }, () => {
    const headers = { "content-type": "application/json", "transfer-encoding": "chunked" }
    const request = Object.assign(Readable.from([ofLength(100)]), { headers })
    return readJson(request as unknown as IncomingMessage, { maxBytes: 2 ** 20, use }, 10)
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(inUse, 10)
  gate.resolve()
  await Promise.all(short)
})
