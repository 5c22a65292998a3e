import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import type { ControlledRun } from "../session/control.ts"
import { aCommandLine, aControlledRun } from "./testing/local-run.ts"
import { receiveWithoutTar, sendWithoutTar } from "./without-tar.ts"

const directory = await mkdtemp(join(tmpdir(), "quayside-without-tar-"))
after(() => rm(directory, { recursive: true }))

/** A folder with names that shells and options trip over, and an empty place for its copy. */
async function aFolder() {
  const home = await mkdtemp(join(directory, "pair-"))
  const [source, target] = [join(home, "-a folder"), join(home, "target")]
  await mkdir(join(source, "empty"), { recursive: true })
  await mkdir(join(source, "$(touch x)", "deep\nname"), { recursive: true })
  await mkdir(target)
  await writeFile(join(source, "large"), randomBytes(3 * 2 ** 20 + 17))
  await writeFile(join(source, "$(touch x)", "deep\nname", "-rf *"), "text\n", { mode: 0o755 })
  await writeFile(join(source, "nothing"), "")
  return { home, source, target, copy: join(target, "-a folder") }
}

/** A run that finds these programs first. */
async function runWithPrograms(home: string, programs: Readonly<Record<string, string>>): Promise<ControlledRun> {
  const folder = join(home, "programs")
  await mkdir(folder)
  for (const [name, script] of Object.entries(programs)) await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return aControlledRun({ env: { ...process.env, PATH: `${folder}:${process.env.PATH}` } })
}

const isSame = (a: string, b: string) => execFileSync("diff", ["-r", "--no-dereference", a, b]).length === 0

test("a folder is copied into a run and out of it file by file, with all names, contents and modes", async () => {
  const { source, target, copy, home } = await aFolder()
  const bytes = 3 * 2 ** 20 + 17 + 5
  assert.equal(await sendWithoutTar(aCommandLine(), aControlledRun(), { local: source, remote: copy }), bytes)
  assert.ok(isSame(source, copy))
  const back = join(home, "back")
  await mkdir(back)
  assert.equal(await receiveWithoutTar(aCommandLine(), aControlledRun(), { path: `${copy}/`, directory: back }), bytes)
  assert.ok(isSame(source, join(back, "-a folder")))
  const mode = (await lstat(join(back, "-a folder", "$(touch x)", "deep\nname", "-rf *"))).mode & 0o777
  assert.equal(mode, 0o755 & ~process.umask())
  assert.deepEqual(await readdir(target), ["-a folder"])
})

test("links are left out, and one file is copied alone", async () => {
  const { source, home, copy } = await aFolder()
  await symlink("large", join(source, "link"))
  await sendWithoutTar(aCommandLine(), aControlledRun(), { local: source, remote: copy })
  assert.ok(!(await readdir(copy)).includes("link"))
  const back = join(home, "back")
  await mkdir(back)
  await receiveWithoutTar(aCommandLine(), aControlledRun(), { path: join(source, "large"), directory: back })
  assert.deepEqual(await readFile(join(back, "large")), await readFile(join(source, "large")))
  await assert.rejects(
    receiveWithoutTar(aCommandLine(), aControlledRun(), { path: join(source, "link"), directory: back }),
    /neither a file nor a folder/,
  )
  await assert.rejects(
    receiveWithoutTar(aCommandLine(), aControlledRun(), { path: "/nowhere", directory: back }),
    /neither a file nor a folder/,
  )
})

test("a run that lists a name outside of the folder writes nothing there", async () => {
  const { source, home } = await aFolder()
  const back = join(home, "back")
  await mkdir(back)
  for (const [i, name] of ["./../outside", "/etc/outside", "./a/../../outside"].entries()) {
    const programs = join(home, `${i}`)
    await mkdir(programs)
    const run = await runWithPrograms(programs, {
      find: `case "$*" in *"-type f"*) printf '%s\\000' '${name}';; *) printf '.\\000./a\\000';; esac`,
    })
    await assert.rejects(receiveWithoutTar(aCommandLine(), run, { path: source, directory: back }), /cannot be written here/)
  }
  assert.deepEqual(await readdir(home), ["-a folder", "0", "1", "2", "back", "target"])
})

test("a list of a million files ends the copy, and a file that cannot be completed leaves the run", async () => {
  const { source, home, copy } = await aFolder()
  const [back, programs] = [join(home, "back"), join(home, "other")]
  await mkdir(back)
  const endless = await runWithPrograms(home, { find: "yes ./a | head -n 1000001 | tr '\\n' '\\000'" })
  await assert.rejects(receiveWithoutTar(aCommandLine(), endless, { path: source, directory: back }), /too many files/)
  await mkdir(programs)
  const run = await runWithPrograms(programs, { touch: "exit 1" })
  await assert.rejects(sendWithoutTar(aCommandLine(), run, { local: join(source, "large"), remote: copy }), /failed/)
  await assert.rejects(lstat(copy), { code: "ENOENT" })
})

test("an image without the programs or a shell is told with what helps", async () => {
  const { source, home, copy } = await aFolder()
  const bare = await aControlledRun({ env: { PATH: home } })
  const refused = { message: `The copy of ${copy} failed: the image has no mkdir`, exitCode: 127, hint: /Install tar/ }
  await assert.rejects(sendWithoutTar(aCommandLine(), bare, { local: source, remote: copy }), refused)
  const withoutShell = aControlledRun({
    answer: (stream) => {
      stream.fail("command_not_found", "no sh")
      return true
    },
  })
  await assert.rejects(sendWithoutTar(aCommandLine(), withoutShell, { local: source, remote: copy }), {
    message: "The run's image has neither tar nor a shell.",
    exitCode: 127,
  })
})

test("a copy goes on after the connection was lost, with the files that are not there yet", async () => {
  const { source, copy } = await aFolder()
  await chmod(join(source, "large"), 0o600)
  let streams = 0
  const offsets: unknown[] = []
  const local = aControlledRun({
    answer: (_, { offset }) => {
      streams += 1
      if (offset !== undefined) offsets.push(offset)
      return false
    },
  })
  let connections = 0
  const run: ControlledRun = {
    ...local,
    open: async () => {
      const connection = await local.open()
      connections += 1
      if (connections > 1) return connection
      const watched = setInterval(() => {
        if (streams < 7) return
        clearInterval(watched)
        connection.handleTransportClose("")
      }, 1)
      return connection
    },
  }
  await sendWithoutTar(aCommandLine(), run, { local: source, remote: copy })
  assert.ok(isSame(source, copy))
  assert.equal(connections, 2)
})
