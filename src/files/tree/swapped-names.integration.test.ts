import assert from "node:assert/strict"
import { chownSync, existsSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, beforeEach, test } from "node:test"
import { asRoot, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { assertNoSecret, assertUntouched, makeVictim, secret, whileSwapping } from "../../../test/fixtures/files/swapped-names.ts"

/*
 * A program in a container swaps names while the server works. Two things must be out of reach,
 * whatever happens: a folder outside of the files root, and another person's home. The server runs
 * in this process, as root where the tests do: nothing but its own care keeps it out.
 */

const rounds = 50
let server: TestFilesServer
const outside = () => join(server.folder, "outside")
const victims = () => [outside(), join(server.root, "users/bob/private")]

before(async () => {
  server = await TestFilesServer.start()
})
beforeEach(() => {
  server.makeDirectory("users/bob/private")
  for (const victim of victims()) makeVictim(victim)
})
after(() => server[Symbol.asyncDispose]())

/** A directory of ann's in which `swap` can be swapped with a link to the victim. */
function prepare(): string {
  rmSync(server.at("play"), { recursive: true, force: true })
  server.makeDirectory("users/ann/play/swap/sub")
  for (const name of ["f", "sub/f"]) {
    writeFileSync(server.at("play/swap", name), "own")
    if (asRoot) chownSync(server.at("play/swap", name), owner.uid, owner.gid)
  }
  return server.at("play/swap")
}

const request = (method: string, path: string, headers: Record<string, string> = {}, body: string | Buffer = "") =>
  server.ask(method, `/users/ann/play/${path}`, { headers, body })
const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
const patchBody = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y"/></prop></set></propertyupdate>'
const to = (name: string) => ({ destination: `/users/ann/play/${name}` })
const large = Buffer.alloc(100_000, "planted")

const attacks: Record<string, (round: number) => Promise<{ text: string; status: number }>> = {
  "GET of a file": () => request("GET", "swap/f"),
  "GET of a file further down": () => request("GET", "swap/sub/f"),
  "a listing": () => request("PROPFIND", "swap", { depth: "infinity" }),
  "a listing from above": () => request("PROPFIND", "", { depth: "infinity" }),
  "PUT of a new file": () => request("PUT", "swap/planted", {}, "planted"),
  "PUT of a new file, in pieces": () => request("PUT", "swap/sub/planted", { "transfer-encoding": "chunked" }, large),
  "PUT of an existing file": () => request("PUT", "swap/f", {}, "planted"),
  "DELETE of a file": () => request("DELETE", "swap/f"),
  "DELETE of a directory": () => request("DELETE", "swap/sub"),
  "DELETE of the name itself": () => request("DELETE", "swap"),
  MKCOL: (round) => request("MKCOL", `swap/planted${round}`),
  "COPY out of it": () => request("COPY", "swap", to("copy")),
  "COPY of a file out of it": () => request("COPY", "swap/f", to("copy")),
  "COPY into it": () => request("COPY", "other", to("swap/planted")),
  "MOVE out of it": () => request("MOVE", "swap/f", to("copy")),
  "MOVE into it": () => request("MOVE", "other", to("swap/planted")),
  "MOVE over it": () => request("MOVE", "other", to("swap")),
  LOCK: (round) => request("LOCK", `swap/planted${round}`, {}, lockBody),
  HEAD: () => request("HEAD", "swap/f"),
  OPTIONS: () => request("OPTIONS", "swap/f"),
  "LOCK and UNLOCK": async (round) => {
    const { headers } = await request("LOCK", `swap/locked${round}`, {}, lockBody)
    return request("UNLOCK", `swap/locked${round}`, { "lock-token": String(headers["lock-token"] ?? "<opaquelocktoken:none>") })
  },
  PROPPATCH: () => request("PROPPATCH", "swap/f", {}, patchBody),
}

for (const [name, attack] of Object.entries(attacks)) {
  test(`${name} reaches nothing through a directory that becomes a link`, async () => {
    await whileSwapping({ path: prepare(), target: outside() }, async () => {
      for (let round = 0; round < rounds; round += 1) {
        if (round % 10 === 0) writeOther()
        check(await attack(round))
      }
    })
    for (const victim of victims()) assertUntouched(victim)
  })
}

test("a directory that becomes a link to another person's home reveals nothing of it", async () => {
  await whileSwapping({ path: prepare(), target: join(server.root, "users/bob/private") }, async () => {
    for (let round = 0; round < rounds; round += 1) check(await request("GET", "swap/f"))
  })
  for (const victim of victims()) assertUntouched(victim)
})

test("a file that becomes a link is neither read nor written through", async () => {
  prepare()
  await whileSwapping({ path: server.at("play/swap/f"), target: join(outside(), "f") }, async () => {
    for (let round = 0; round < rounds; round += 1) {
      check(await request("GET", "swap/f"))
      check(await request("COPY", "swap/f", to("copy")))
      check(await request("PUT", "swap/f", {}, "planted"))
    }
  })
  for (const victim of victims()) assertUntouched(victim)
})

function check({ text, status }: { text: string; status: number }): void {
  assert.ok(!text.includes(secret) && status < 500, `${status} ${text}`)
  assertNoSecret(server.at("play/copy"))
}

function writeOther(): void {
  if (existsSync(server.at("play/other")) || !existsSync(server.at("play"))) return
  writeFileSync(server.at("play/other"), "other")
}
