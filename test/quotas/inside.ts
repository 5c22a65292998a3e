import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, beforeEach, describe, test } from "node:test"
import type { StorageAccount } from "#files"
import { eventually } from "../fixtures/eventually.ts"
import { owner, TestFilesServer } from "../fixtures/files/files-server.ts"
import { type Person, startTestServer } from "../test-server.ts"

/*
 * Runs inside the virtual machine that `quotas.slow.test.ts` starts, as root, on a kernel with
 * project quotas.
 */

const mib = 2 ** 20
const firstProject = 1_000_000_000
/** The options of `mkfs`. */
const kinds: Record<string, readonly string[]> = { ext4: ["-q", "-O", "project,quota"], xfs: ["-q"] }

async function mountImage(kind: string, path: string): Promise<() => void> {
  const image = join(await mkdtemp(join(tmpdir(), "image-")), "image")
  execFileSync("truncate", ["--size", "512M", image])
  execFileSync(`mkfs.${kind}`, [...(kinds[kind] ?? []), image])
  mkdirSync(path, { recursive: true })
  execFileSync("mount", ["-o", "loop,prjquota", image, path])
  return () => {
    execFileSync("umount", ["-l", path])
    rmSync(image)
  }
}

/** A program of a run: it has the runs' uid and no capabilities. Returns its error output. */
function program(...command: string[]): string {
  const user = ["--reuid", String(owner.uid), "--regid", String(owner.gid), "--clear-groups"]
  return spawnSync("setpriv", [...user, "--no-new-privs", ...command], { encoding: "utf8" }).stderr
}
const write = (path: string, amount: number) =>
  program("dd", "if=/dev/zero", `of=${path}`, "status=none", "bs=64K", `count=${amount / 65_536}`)
/** XFS does not distinguish a full project from a full disk. */
const full = /Disk quota exceeded|No space left on device/

const projectOf = (path: string) => Number(/^\s*(\d+)/.exec(execFileSync("lsattr", ["-pd", path], { encoding: "utf8" }))?.[1])

/** The emulated processor is slow. */
const soon = (what: string, check: () => boolean | Promise<boolean>) => eventually(what, check, 90_000)

for (const kind of Object.keys(kinds)) {
  describe(`the file server on ${kind} with project quotas`, () => {
    let server: TestFilesServer
    let people = 0
    /** Two people without any files. */
    let ann = ""
    let bob = ""

    before(async () => {
      const mounted = await mountImage(kind, join(tmpdir(), kind))
      server = await TestFilesServer.start({
        runIn: "worker",
        storage: { firstProject },
        prepare(root) {
          execFileSync("mount", ["--bind", join(tmpdir(), kind), root])
          chownSync(root, owner.uid, owner.gid)
          return () => {
            execFileSync("umount", ["-l", root])
            mounted()
          }
        },
      })
      // As in a container, programs reach homes whatever the directories above allow.
      chmodSync(server.folder, 0o711)
    })
    after(() => server[Symbol.asyncDispose]())
    beforeEach(() => {
      people += 1
      for (const name of [`ann${people}`, `bob${people}`]) {
        server.authority.add(name)
        server.makeDirectory(`users/${name}`)
      }
      ann = `ann${people}`
      bob = `bob${people}`
    })

    const account = (name: string): StorageAccount => ({
      name,
      userId: server.authority.people.get(name)?.id ?? 0,
      roots: [`/users/${name}`],
      excluded: [],
      subAreas: [],
    })
    const at = (name: string, path = "") => join(server.root, "users", name, path)
    const limit = (name: string, maxBytes: number | null) => server.files.countStorage(account(name), maxBytes)
    const request = (method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) =>
      server.ask(method, `/users/${ann}/${path}`, { user: ann, headers, ...(body ? { body } : {}) })
    const put = (path: string, bytes: number) => request("PUT", path, {}, Buffer.alloc(bytes, 1))
    const to = (path: string) => ({ destination: `/users/${ann}/${path}` })

    test("a program gets an error at `MaxStorage`, and nobody else does", async () => {
      assert.equal(server.files.hasQuotas, true)
      await limit(ann, 10 * mib)
      assert.match(write(at(ann, "big"), 20 * mib), full)
      assert.ok(statSync(at(ann, "big")).size <= 10 * mib)
      assert.equal(write(at(bob, "big"), 20 * mib), "")
      assert.match(program("ln", at(bob, "big"), at(ann, "link")), /cross-device/i)
    })

    test("an upload that does not fit gets 507 with the kernel's numbers, without a new count", async () => {
      await limit(ann, 10 * mib)
      server.authority.quotas.set(ann, { account: account(ann), maxBytes: 10 * mib, counted: { [ann]: 0 } })
      assert.equal((await put("first", mib)).status, 201)
      write(at(ann, "by-a-program"), 8 * mib)
      const { status, text } = await put("big", 3 * mib)
      assert.equal(status, 507)
      assert.match(JSON.parse(text).msg, new RegExp(`^${ann} may store 10 MiB and stores 9(\\.\\d)? MiB; this has 3 MiB`))
      assert.equal((await put("small", 64 * 1024)).status, 201)
    })

    test("uploads, saves at the limit, moves and copies succeed, and deletions free space", async () => {
      await limit(ann, 10 * mib)
      assert.equal((await put("file", 6 * mib)).status, 201)
      assert.equal((await put("file", 6 * mib)).status, 204, "a save that needs no more room")
      const open = openSync(at(ann, "file"), "r+")
      assert.equal((await put("file", 6 * mib)).status, 507, "a program could go on writing to the old file")
      closeSync(open)
      assert.equal((await request("MKCOL", "folder")).status, 201)
      assert.equal((await put("folder/inner", mib)).status, 201)
      assert.equal((await request("COPY", "folder", to("copy"))).status, 201)
      assert.equal((await request("MOVE", "copy", to("folder/moved"))).status, 201)
      assert.equal((await put("folder/unlabelled", 4_096)).status, 201)
      assert.equal(program("chattr", "-p", "0", at(ann, "folder/unlabelled")), "")
      assert.equal((await request("MOVE", "folder/unlabelled", to("labelled"))).status, 201)
      assert.equal(projectOf(at(ann, "labelled")), firstProject + account(ann).userId)
      assert.equal((await request("COPY", "file", to("file2"))).status, 507)
      const chunks = server.ask("PUT", `/users/${ann}/chunks`, {
        user: ann,
        headers: { "transfer-encoding": "chunked" },
        body: Buffer.alloc(5 * mib),
      })
      assert.equal((await chunks).status, 507)
      assert.match(write(at(ann, "big"), 5 * mib), full)
      assert.equal((await request("DELETE", "big")).status, 204)
      assert.equal((await request("DELETE", "file")).status, 204)
      await soon("the room is free", async () => (await put("again", 6 * mib)).status === 201)
      assert.match(write(at(ann, "big"), 5 * mib), full)
    })

    test("a limit that is raised or lowered applies to the next write", async () => {
      await limit(ann, 4 * mib)
      assert.match(write(at(ann, "one"), 8 * mib), full)
      await limit(ann, 20 * mib)
      assert.equal(write(at(ann, "one"), 8 * mib), "")
      await limit(ann, 2 * mib)
      assert.match(write(at(ann, "two"), mib), full)
      assert.equal((await request("DELETE", "one")).status, 204)
      await soon("the room is free", () => !full.test(write(at(ann, "two"), mib)))
      await limit(ann, null)
      assert.equal(write(at(ann, "three"), 8 * mib), "")
    })

    test("older files count, at any depth and beyond the limit, and labels that a program removed are restored", async () => {
      const deep = Array<string>(20).fill("d")
      for (const depth of deep.keys()) server.makeDirectory(`users/${ann}/${deep.slice(0, depth + 1).join("/")}`)
      const inside = (name: string) => at(ann, [...deep, name].join("/"))
      write(inside("old"), 6 * mib)
      write(at(ann, "other"), 6 * mib)
      await limit(ann, 8 * mib)
      assert.match(write(inside("new"), mib), full)
      assert.equal((await request("DELETE", "other")).status, 204)
      await soon("the room is free", () => !full.test(write(inside("new"), mib)))
      assert.equal(program("chattr", "-p", "0", "-P", at(ann, ".")), "")
      assert.equal(write(at(ann, "escaped"), 10 * mib), "")
      assert.ok((await limit(ann, 8 * mib)).bytes > 10 * mib, "what escapes the kernel is still counted")
      assert.match(write(at(ann, "more"), mib), full)
    })

    test("an administrator's own projects stay as they are", async () => {
      server.makeDirectory(`users/${ann}/theirs`)
      execFileSync("chattr", ["-p", "77", "+P", at(ann, "theirs")])
      await limit(ann, 4 * mib)
      assert.equal(write(at(ann, "theirs/big"), 8 * mib), "")
      assert.equal(projectOf(at(ann, "theirs")), 77)
    })

    test("a directory that changes hands counts for its new owner, or stays if it does not fit", async () => {
      server.makeDirectory(`users/${ann}/set`)
      write(at(ann, "set/data"), 6 * mib)
      program("ln", at(ann, "set/data"), at(ann, "second-name"))
      await limit(ann, 16 * mib)
      await limit(bob, 4 * mib)
      const transfer = async () => {
        await server.files.tree.breakHardLinks(`/users/${ann}/set`)
        return server.files.tree.move(`/users/${ann}/set`, `/users/${bob}/set`)
      }
      await assert.rejects(transfer(), { code: "storage_full" })
      assert.match(write(at(ann, "big"), 6 * mib), full, "it still counts for the old owner")
      await limit(bob, 8 * mib)
      assert.equal(await transfer(), true)
      assert.equal(write(at(ann, "big"), 9 * mib), "")
      assert.match(write(at(bob, "set/more"), 4 * mib), full)
    })

    test("a dataset of somebody else in a home counts for its owner", async () => {
      const lent = `/users/${ann}/lent`
      server.makeDirectory(lent)
      write(at(ann, "lent/data"), 6 * mib)
      await server.files.countStorage({ ...account(ann), excluded: [lent] }, 4 * mib)
      await server.files.countStorage({ ...account(bob), roots: [`/users/${bob}`, lent] }, 8 * mib)
      assert.match(write(at(ann, "lent/more"), 4 * mib), full)
      assert.equal(write(at(ann, "own"), 3 * mib), "")
      await limit(ann, 20 * mib)
      assert.equal(write(at(bob, "own"), 7 * mib), "", "it is ann's again")
    })

    test("limits stay in force when the worker ends, and the next one completes partial work", async () => {
      server.makeDirectory(`users/${ann}/half`)
      write(at(ann, "half/file"), 2 * mib)
      await limit(ann, 8 * mib)
      execFileSync("chattr", ["-p", "0", at(ann, "half/file")])
      await limit(ann, 8 * mib)
      assert.equal(projectOf(at(ann, "half/file")), 0)
      const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8")
      for (const pid of children.trim().split(" ")) process.kill(Number(pid), "SIGKILL")
      assert.match(write(at(ann, "big"), 10 * mib), full)
      await soon("the next worker serves", async () => (await request("DELETE", "big").catch(() => undefined))?.status === 204)
      await limit(ann, 8 * mib)
      assert.equal(projectOf(at(ann, "half/file")), firstProject + account(ann).userId)
    })
  })
}

test("a whole installation limits people's homes and datasets, and completes after a restart what was undone", {
  timeout: 600_000,
}, async () => {
  const files = join(tmpdir(), "installation")
  const unmount = await mountImage("ext4", files)
  try {
    await using server = await startTestServer({ "files-dir": files })
    const ann = await server.person("ann", { Limits: { MaxStorage: 10 } })
    const bob = await server.person("bob", { Limits: { MaxStorage: 20 } })
    const put = async ({ userName, authorization }: Person) => {
      const url = `${server.quayside.filesUrl}/users/${userName}/small`
      // An emulated processor takes seconds for a password: the file server may ask to try again.
      await soon("a file is stored", async () => {
        const response = await fetch(url, { method: "PUT", headers: { authorization }, body: "x" })
        assert.ok(response.ok || response.status === 503, `${response.status} ${await response.text()}`)
        return response.ok
      })
    }
    const at = (path: string) => join(files, "users", path)
    const { files: check } = (await (await fetch(`${server.quayside.baseUrl}/readyz`)).json()).checks
    assert.match(check.msg, /the kernel limits what people store/)

    for (const person of [ann, bob]) await put(person)
    await soon("both homes have projects", () => projectOf(at("ann")) > 0 && projectOf(at("bob")) === projectOf(at("ann")) + 1)
    await soon("the limit is set", () => full.test(write(at("ann/big"), 12 * mib)))
    const { ID } = (await server.admin.listUsers({ query: { UserName: "ann" } })).data[0] ?? { ID: 0 }
    await server.admin.updateUser({ body: { ID, Limits: { MaxStorage: 30 } } })
    await soon("the new limit is set", () => write(at("ann/big"), 12 * mib) === "")

    const created = await ann.client.createData({ body: { Name: "set", Type: "dir" } })
    await server.acquaint(ann, bob)
    write(at(`${created.AccessInfo.slice("/users/".length)}/data`), 6 * mib)
    const { AccessInfo } = await server.admin.updateData({ body: { ID: created.ID, UserName: "bob" } })
    assert.equal(projectOf(join(files, AccessInfo, "data")), projectOf(at("bob")))

    await server.admin.updateData({ body: { ID: created.ID, UserName: "ann", AccessInfo } })
    await soon("it counts for its new owner at its old path", () => projectOf(join(files, AccessInfo, "data")) === projectOf(at("ann")))

    execFileSync("chattr", ["-p", "0", at("ann/big")])
    await server.restart()
    await soon("it is labelled again", () => projectOf(at("ann/big")) === projectOf(at("ann")))
  } finally {
    unmount()
  }
})
