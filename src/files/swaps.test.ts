import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, beforeEach, test } from "node:test"
import { Failure } from "#contract"
import { asRoot, FilesWorld, owner } from "../../test/fixtures/files-world.ts"

/*
 * A program in a container swaps names while the server works. Two things must be out of reach, whatever happens: a folder outside of the
 * files root, and another person's home. The server runs in this process, as root where the tests do: nothing but its own care keeps it out.
 */

const secret = "this is nobody's business"
const rounds = 100
let world: FilesWorld
const outside = () => join(world.folder, "outside")
const victims = () => [outside(), join(world.root, "users/bob/private")]

before(async () => {
  world = await FilesWorld.start()
})
beforeEach(() => {
  world.makeDirectory("users/bob/private")
  for (const victim of victims()) {
    rmSync(victim, { recursive: true })
    mkdirSync(join(victim, "sub"), { recursive: true })
    for (const name of ["f", "sub/f"]) writeFileSync(join(victim, name), secret, { mode: 0o600 })
  }
})
after(() => world[Symbol.asyncDispose]())

async function swapping(path: string, target: string, work: () => Promise<void>): Promise<void> {
  const swapper: ChildProcess = spawn(process.execPath, ["test/fixtures/swap-with-link.ts", path, target], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  try {
    await new Promise((resolve, reject) => {
      swapper.stdout?.once("data", resolve)
      swapper.once("exit", () => reject(new Error("The swapper ended")))
    })
    await work()
  } finally {
    const ended = new Promise((resolve) => swapper.once("exit", resolve))
    swapper.kill("SIGKILL")
    await ended
  }
}

function assertUntouched(): void {
  for (const victim of victims()) {
    assert.deepEqual(readdirSync(victim).toSorted(), ["f", "sub"])
    assert.deepEqual(readdirSync(join(victim, "sub")), ["f"])
    for (const name of ["f", "sub/f"]) {
      assert.equal(readFileSync(join(victim, name), "utf8"), secret)
      assert.equal(statSync(join(victim, name)).mode & 0o777, 0o600)
    }
  }
}

/** A directory of ann's in which `swap` can be swapped with a link to the victim. */
function prepare(): string {
  rmSync(world.at("play"), { recursive: true, force: true })
  world.makeDirectory("users/ann/play/swap/sub")
  for (const name of ["f", "sub/f"]) {
    writeFileSync(world.at("play/swap", name), "own")
    if (asRoot) chownSync(world.at("play/swap", name), owner.uid, owner.gid)
  }
  return world.at("play/swap")
}

const ask = (method: string, path: string, headers: Record<string, string> = {}, body: string | Buffer = "") =>
  world.ask(method, `/users/ann/play/${path}`, { headers, body })
const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
const patchBody = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y"/></prop></set></propertyupdate>'
const to = (name: string) => ({ destination: `/users/ann/play/${name}` })
const large = Buffer.alloc(100_000, "planted")

const attacks: Record<string, (round: number) => Promise<{ text: string; status: number }>> = {
  "GET of a file": () => ask("GET", "swap/f"),
  "GET of a file further down": () => ask("GET", "swap/sub/f"),
  "a listing": () => ask("PROPFIND", "swap", { depth: "infinity" }),
  "a listing from above": () => ask("PROPFIND", "", { depth: "infinity" }),
  "PUT of a new file": () => ask("PUT", "swap/planted", {}, "planted"),
  "PUT of a new file, in pieces": () => ask("PUT", "swap/sub/planted", { "transfer-encoding": "chunked" }, large),
  "PUT of an existing file": () => ask("PUT", "swap/f", {}, "planted"),
  "DELETE of a file": () => ask("DELETE", "swap/f"),
  "DELETE of a directory": () => ask("DELETE", "swap/sub"),
  "DELETE of the name itself": () => ask("DELETE", "swap"),
  MKCOL: (round) => ask("MKCOL", `swap/planted${round}`),
  "COPY out of it": () => ask("COPY", "swap", to("copy")),
  "COPY of a file out of it": () => ask("COPY", "swap/f", to("copy")),
  "COPY into it": () => ask("COPY", "other", to("swap/planted")),
  "MOVE out of it": () => ask("MOVE", "swap/f", to("copy")),
  "MOVE into it": () => ask("MOVE", "other", to("swap/planted")),
  "MOVE over it": () => ask("MOVE", "other", to("swap")),
  LOCK: (round) => ask("LOCK", `swap/planted${round}`, {}, lockBody),
  PROPPATCH: () => ask("PROPPATCH", "swap/f", {}, patchBody),
}

for (const [name, attack] of Object.entries(attacks)) {
  test(`${name} reaches nothing through a directory that becomes a link`, async () => {
    await swapping(prepare(), outside(), async () => {
      for (let round = 0; round < rounds; round += 1) {
        if (round % 10 === 0) writeOther()
        check(await attack(round))
      }
    })
    assertUntouched()
  })
}

test("a directory that becomes a link to another person's home shows nothing of it", async () => {
  await swapping(prepare(), join(world.root, "users/bob/private"), async () => {
    for (let round = 0; round < rounds; round += 1) check(await ask("GET", "swap/f"))
  })
  assertUntouched()
})

test("a file that becomes a link is never read or written through", async () => {
  prepare()
  await swapping(world.at("play/swap/f"), join(outside(), "f"), async () => {
    for (let round = 0; round < rounds; round += 1) {
      check(await ask("GET", "swap/f"))
      check(await ask("COPY", "swap/f", to("copy")))
      check(await ask("PUT", "swap/f", {}, "planted"))
    }
  })
  assertUntouched()
})

test("a copy of code, a new directory and a removal for the main process reach nothing through a directory that becomes a link", async () => {
  const path = "/users/ann/play/swap"
  const { tree } = world.files
  const works = [
    () => tree.copyTree(path, "/users/ann/copied"),
    () => tree.copyTree(`${path}/sub`, "/users/ann/copied"),
    () => tree.copyTree("/users/ann/play/other", `${path}/planted`),
    (round: number) => tree.ensureDirectory(`${path}/planted${round}/x`),
    (round: number) => tree.makeNewDirectory(`${path}/sub/planted${round}`),
    () => tree.removeTree(`${path}/sub`),
  ]
  for (const victim of victims()) {
    const swap = prepare()
    world.makeDirectory("users/ann/play/other")
    const done = works.map(() => 0)
    await swapping(swap, victim, async () => {
      for (let round = 0; round < 40; round += 1) {
        for (const [n, work] of works.entries()) {
          await work(round).then(
            () => (done[n] = (done[n] ?? 0) + 1),
            (error: unknown) => assert.ok(error instanceof Failure, String(error)),
          )
          assertNoSecret(join(world.root, "users/ann/copied"))
        }
      }
    })
    assertUntouched()
    assert.ok(
      done.some((count) => count > 0 && count < 40),
      `some were in time, some too late: ${done}`,
    )
  }
})

function check({ text, status }: { text: string; status: number }): void {
  assert.ok(!text.includes(secret) && status < 500, `${status} ${text}`)
  assertNoSecret(world.at("play/copy"))
}

function writeOther(): void {
  if (existsSync(world.at("play/other")) || !existsSync(world.at("play"))) return
  writeFileSync(world.at("play/other"), "other")
}

/** A link that was copied or moved as a link would show nothing to any client; what it leads to must not be there as a file. */
function assertNoSecret(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) for (const name of readdirSync(path)) assertNoSecret(join(path, name))
  else if (stats?.isFile()) assert.notEqual(readFileSync(path, "utf8"), secret)
}
