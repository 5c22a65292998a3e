import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { TestFilesServer, workerPid } from "../../../test/fixtures/files/files-server.ts"

/** A body that tells its number in every line, and whether it is whole. */
function bodyOf(number: number, length: number): string {
  return `${`${number}\n`.repeat(Math.ceil(length / `${number}\n`.length))}end`
}

/** Small bodies are written in one piece, larger ones as they come. */
const lengths = [500, 300_000, 500, 100_000, 500, 20_000, 500, 2_000_000]

test("after the worker is killed during many uploads, every acknowledged one is there, and each file is whole", async () => {
  await using server = await TestFilesServer.start({ runIn: "worker" })
  const sent = lengths.map(() => 0)
  const acknowledged = lengths.map(() => 0)
  let stopped = false
  const uploads = lengths.map(async (length, i) => {
    while (!stopped) {
      const number = (sent[i] ?? 0) + 1
      sent[i] = number
      const answer = await server.ask("PUT", `/users/ann/f${i}`, { body: bodyOf(number, length) }).catch(() => undefined)
      if (answer && answer.status < 300) acknowledged[i] = number
    }
  })
  for (let kill = 0; kill < 6; kill += 1) {
    const before = [...acknowledged]
    await eventually("each of them was acknowledged again", () => acknowledged.every((number, i) => number > (before[i] ?? 0)))
    const pid = workerPid()
    assert.ok(pid)
    process.kill(pid, "SIGKILL")
    // The uploads acknowledged by then; later ones are the next worker's.
    for (const [i, number] of [...acknowledged].entries())
      checkFile(server.at(`f${i}`), { least: number, most: sent[i] ?? 0, length: lengths[i] ?? 0 })
  }
  stopped = true
  await Promise.all(uploads)
  for (const [i, number] of acknowledged.entries())
    checkFile(server.at(`f${i}`), { least: number, most: sent[i] ?? 0, length: lengths[i] ?? 0 })
  await eventually("what was left is swept", () => server.unfinished().length === 0)
  assert.equal(readdirSync(server.at()).length, lengths.length)
})

function checkFile(path: string, { least, most, length }: { least: number; most: number; length: number }): void {
  const text = readFileSync(path, "utf8")
  const number = Number.parseInt(text, 10)
  assert.ok(text === bodyOf(number, length), `${path} is not whole`)
  assert.ok(number >= least && number <= most, `${path} holds ${number}; acknowledged was ${least}, and sent ${most}`)
}
