import assert from "node:assert/strict"
import { chmod, mkdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { PassThrough, Writable } from "node:stream"
import { after, test } from "node:test"
import { runCommandLine } from "#cli"
import { sendRequest } from "../api/http-client.ts"
import { isSignedIn, signIn } from "../fixtures/browser-session.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { startTestServer } from "../test-server.ts"
import { openCommandLine } from "./program.ts"

const server = await startTestServer({ "mock-gpus": "2" })
after(() => server[Symbol.asyncDispose]())
const ann = await server.person("ann")
const boss = await openCommandLine()
after(() => boss[Symbol.asyncDispose]())
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const tokenOf = (authorization: string) => authorization.slice("Bearer ".length)
const bossToken = (await server.admin.createToken({ body: { Name: "command line" } })).Token

/** Makes the program of a run print a line. */
async function printLine(id: unknown, line: string): Promise<void> {
  const { appsUrl } = server.quayside
  const { status } = await sendRequest(appsUrl, "GET", `/run/${id}/log/${encodeURIComponent(line)}`, { as: ann.authorization })
  assert.equal(status, 200)
}

/** Runs a command that must succeed. */
async function ok(...words: string[]) {
  const outcome = await cli.run(words)
  assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`)
  return outcome
}

test("login stores the token in a file of mode 600, and refuses one that others can read", async () => {
  const without = await cli.spawn(["ls"])
  assert.equal(without.code, 3)
  assert.match(without.stderr, /signed in to no server[\s\S]*quayside login/)
  const wrong = await cli.run(["login", baseUrl, "--token-stdin"], { input: "qs_wrong\n" })
  assert.equal(wrong.code, 3)
  const { code, stdout, stderr } = await cli.spawn(["login", baseUrl, "--token-stdin"], { input: `${tokenOf(ann.authorization)}\n` })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /Signed in to http:\/\/localhost:\d+ as ann/)
  const file = join(cli.directory, "config/quayside/contexts.json")
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.match(await readFile(file, "utf8"), /qs_/)
  assert.doesNotMatch(stdout + (await ok("context", "ls", "--json")).stdout, /qs_/)
  await chmod(file, 0o644)
  const open = await cli.run(["ls"])
  assert.deepEqual([open.code, /mode 600\); its mode is 644/.test(open.stderr)], [1, true], open.stderr)
  await chmod(file, 0o600)
  assert.equal((await ok("whoami", "--json")).json().UserName, "ann")
})

test("without a terminal, login without a token and a deletion without --yes ask nothing", async () => {
  const login = await cli.run(["login", baseUrl])
  assert.deepEqual([login.code, /needs --token-stdin or --token/.test(login.stderr)], [2, true], login.stderr)
  const { ID } = await ann.client.createData({ body: { Name: "asked" } })
  const removed = await cli.run(["data", "rm", "asked"])
  assert.deepEqual([removed.code, /--yes is needed/.test(removed.stderr)], [2, true], removed.stderr)
  await ok("data", "rm", String(ID), "--yes")
  assert.equal((await cli.run(["data", "show", "asked"])).code, 4)
  await ok("data", "restore", String(ID))
  assert.equal((await ok("data", "show", "asked", "--json")).json().ID, ID)
})

test("login on a terminal asks for a token without showing it", async () => {
  const home = await openCommandLine()
  await using _home = home
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  let shown = ""
  const stderr = Object.assign(
    new Writable({
      write: (chunk, _encoding, done) => {
        shown += chunk
        if (String(chunk).startsWith("Create a token there")) setImmediate(() => stdin.write(`${tokenOf(ann.authorization)}\r`))
        done()
      },
    }),
    { isTTY: true, columns: 80 },
  )
  const env = { HOME: home.directory }
  const streams = { stdin, stdout: stderr, stderr, signal: new AbortController().signal }
  const process = { env, ...streams, platform: "linux" as const, version: "0", program: [] }
  assert.equal(await runCommandLine(process, ["login", baseUrl, "--no-browser"]), 0, shown)
  assert.match(shown, /Open http:.*\/ui\/me\?tab=tokens[\s\S]*as ann/)
  assert.doesNotMatch(shown, /qs_/)
})

test("the environment's server and token win over contexts, and contexts over nothing", async () => {
  const env = { QUAYSIDE_SERVER: baseUrl, QUAYSIDE_TOKEN: bossToken }
  assert.equal((await cli.run(["whoami", "--json"], { env })).json().UserName, "admin")
  assert.equal((await cli.run(["whoami", "--json", "--context", "localhost"], { env })).json().UserName, "ann")
  assert.equal((await cli.run(["whoami", "--context", "other"])).code, 4)
})

test("`session` lists a person's browsers and ends one or all, and administrators' everybody's", async () => {
  const env = { QUAYSIDE_SERVER: baseUrl, QUAYSIDE_TOKEN: bossToken }
  const [one, two] = [await signIn(baseUrl, ann, { "user-agent": "Fire\u009bfox" }), await signIn(baseUrl, ann)]
  const { stdout } = await ok("session", "ls")
  assert.match(stdout, new RegExp(`^ID +USER +SINCE[^\\n]*\\n${two.id} +ann [^\\n]*\\n${one.id} +ann .* Fire fox\\n$`), stdout)
  assert.deepEqual((await cli.run(["session", "ls", "--user", "ann", "--json"], { env })).json<{ ID: number }[]>().length, 2)
  assert.ok((await cli.run(["session", "ls", "--all", "--json"], { env })).json<{ ID: number }[]>().some(({ ID }) => ID === one.id))
  await ok("session", "end", String(one.id))
  assert.deepEqual([await isSignedIn(baseUrl, one), await isSignedIn(baseUrl, two)], [false, true])
  assert.equal((await cli.run(["session", "end", String(one.id)])).code, 4)
  for (const words of [["end"], ["end", "1", "--all"], ["end", "1", "--user", "ann"], ["end", "--all"], ["ls", "--all", "--user", "ann"]])
    assert.equal((await cli.run(["session", ...words])).code, 2, words.join(" "))
  const ended = await cli.run(["session", "end", "--all", "--user", "ann", "--yes"], { env })
  assert.deepEqual([ended.stdout, await isSignedIn(baseUrl, two)], ["Ended all sessions of ann.\n", false])
})

test("an image, a project and its run go from creation to the end by name", async () => {
  const image = (await ok("image", "create", "Web", "fake/http", "--env", "A=b c", "--json")).json()
  assert.equal(image.Env, '{"A":"b c"}')
  await ok("data", "create", "Spectra")
  const project = (await ok("project", "create", "Fit", "--image", "Web", "--type", "http", "--data", "Spectra:/in", "--json")).json<{
    ID: number
    TrainData: { MountPath: string }[]
  }>()
  assert.equal(project.TrainData[0]?.MountPath, "/in")
  assert.match((await ok("project", "ls")).stdout, /^ID +NAME +TYPE.*\n\d+ +Fit +http +Web +ann/m)
  const run = (await ok("start", "Fit", "--wait", "--cpus", "2", "--memory", "256MiB", "--gpus", "1", "--json")).json()
  assert.deepEqual([run.State, run.Cpus, run.Memory, run.Gpus], ["ready", 2, 256, 1])
  assert.match((await ok("ls")).stdout, /^ID +PROJECT +STATE[^\n]*\n\d+ +Fit +ready +\d+ s +2 +1 +http/)
  assert.equal((await ok("open", "Fit", "--print")).stdout, `${baseUrl}/open?ID=${run.ID}\n`)
  assert.match((await ok("stats", "Fit")).stdout, /Memory +[\d.]+ MiB of 256 MiB/)
  await printLine(run.ID, "hello there")
  assert.match((await ok("logs", "Fit", "-n", "5")).stdout, /hello there/)
  const twice = await cli.run(["start", "Fit", "--json"])
  assert.deepEqual([twice.code, JSON.parse(twice.stderr).code], [5, "already_running"])
  await ok("stop", "Fit")
  assert.deepEqual((await ok("ls", "--json")).json(), [])
  assert.match((await ok("ls", "--all")).stdout, /Fit +ended/)
  assert.match((await ok("logs", "Fit")).stdout, /hello there/, "of a run that has ended")
})

test("a start that fails prints its reason and its hint, and exits with 6", async () => {
  await ok("image", "create", "Absent", "fake/missing")
  await ok("project", "create", "Broken", "--image", "Absent", "--type", "http")
  const { code, stderr } = await cli.run(["start", "Broken", "--wait", "--json"])
  assert.deepEqual([code, JSON.parse(stderr).code], [6, "image_not_found"])
  assert.ok(JSON.parse(stderr).hint.length > 10)
})

test("logs -f prints lines as they come, and Ctrl-C ends it with 130", async () => {
  await ok("project", "create", "Follow", "--image", "Web", "--type", "http")
  const { ID } = (await ok("start", "Follow", "--wait", "--json")).json()
  const controller = new AbortController()
  let heard = ""
  const following = cli.spawn(["logs", "-f", "Follow"], {
    signal: controller.signal,
    onOutput: (text) => {
      heard += text
      if (heard.includes("line-19")) controller.abort()
    },
  })
  for (let i = 0; i < 20; i += 1) await printLine(ID, `line-${i}`)
  const { code, stdout, stderr } = await following
  assert.match(stdout, /line-0\n[\s\S]*line-19/)
  assert.deepEqual([code, stderr], [130, "quayside: Interrupted.\n"])
  await ok("stop", "Follow")
})

test("a name that several have is listed with the IDs, and an unknown one names the list", async () => {
  for (const name of ["Twin", "Twin"]) await ok("image", "create", name, "fake/http")
  const { code, stderr } = await cli.run(["image", "show", "Twin"])
  assert.equal(code, 5)
  assert.match(stderr, /2 images have the name "Twin":\n {2}\d+ {2}of ann, fake\/http\n {2}\d+ {2}of ann/)
  assert.match((await cli.run(["image", "show", "Twi"])).stderr, /There is no image "Twi"[\s\S]*quayside image ls/)
})

test("a name means the caller's own: nobody else makes it ambiguous, or lends it their run", async () => {
  const eve = await server.person("eve")
  await server.acquaint(ann, eve)
  const { ID } = await eve.client.createData({ body: { Name: "Squatted", IsPublished: true } })
  assert.equal((await ok("data", "show", "Squatted", "--json")).json().ID, ID)
  const own = (await ok("data", "create", "Squatted", "--json")).json().ID
  assert.equal((await ok("data", "show", "Squatted", "--json")).json().ID, own)
  const image = await eve.client.createImage({ body: { Name: "Lent", Image: "fake/http", Port: "8080" } })
  const project = await eve.client.createProject({ body: { ProjectName: "Lent", Type: "http", ImageID: image.ID, IsPublic: true } })
  const run = await eve.client.startRun({ body: { ProjectID: project.ID } })
  await eve.client.createGrant({ body: { RunID: run.ID, UserName: "ann", Access: "write" } })
  const named = await cli.run(["exec", "Lent", "--", "env"])
  assert.deepEqual([named.code, /There is no run "Lent"[\s\S]*is named by its ID/.test(named.stderr)], [4, true], named.stderr)
  assert.match((await ok("ls", "--everyone")).stdout, /Lent/)
  assert.equal((await cli.run(["exec", String(run.ID), "--", "env"])).code, 0)
})

test("a folder is pushed with its times and comes back the same; unchanged files are not sent again", async () => {
  await ok("data", "create", "Files")
  const folder = join(cli.directory, "out")
  await mkdir(join(folder, "deep/empty"), { recursive: true })
  await writeFile(join(folder, "a b%.txt"), "small")
  const back = join(cli.directory, "back")
  const large = Buffer.alloc(20 * 2 ** 20, "quayside ")
  await writeFile(join(folder, "deep/large.bin"), large)
  await symlink("/etc/passwd", join(folder, "link"))
  const then = new Date("2020-02-03T04:05:06Z")
  await utimes(join(folder, "a b%.txt"), then, then)
  const pushed = await ok("data", "push", folder, "Files:raw/2026")
  assert.match(pushed.stdout, /Uploaded 2 files \(20\.0 MiB\); 0 unchanged/)
  assert.match(pushed.stderr, /Skipped link/)
  assert.match((await ok("data", "push", folder, "Files:raw/2026")).stdout, /Uploaded 0 files \(0 B\); 2 unchanged/)
  const pulled = await ok("data", "pull", "Files", back, "--json", "--checksum")
  assert.equal(pulled.json().files, 2)
  assert.deepEqual(await readFile(join(cli.directory, "back/raw/2026/deep/large.bin")), large)
  const small = join(cli.directory, "back/raw/2026/a b%.txt")
  assert.equal((await stat(small)).mtimeMs, then.getTime())
  assert.match((await ok("data", "pull", "Files", back)).stdout, /Downloaded 0 files/)
  await writeFile(small, "SMALL")
  await utimes(small, then, then)
  assert.match((await ok("data", "pull", "Files", back)).stdout, /Downloaded 0 files/, "size and time are the same")
  assert.match((await ok("data", "pull", "Files", back, "--checksum")).stdout, /Downloaded 1 file/)
  assert.equal(await readFile(small, "utf8"), "small")
  assert.match((await ok("data", "pull", "Files:raw/2026/a b%.txt", join(cli.directory, "one"))).stdout, /Downloaded 1 file/)
  assert.equal((await cli.run(["data", "pull", "Files:nothing"])).code, 4)
  assert.equal((await cli.run(["data", "pull", "Files:../x"])).code, 2)
})

test("a dataset is pulled into no hidden folder that its owner named", async () => {
  const zoe = await server.person("zoe")
  await zoe.client.createData({ body: { Name: "mnist", AccessInfo: "/users/zoe/.ssh", IsPublished: true } })
  const { filesUrl } = server.quayside
  const put = { method: "PUT", headers: { authorization: zoe.authorization }, body: "ssh-ed25519 AAAA zoe" }
  assert.equal((await fetch(`${filesUrl}/users/zoe/.ssh/authorized_keys`, put)).status, 201)
  for (const words of [
    ["data", "pull", "mnist"],
    ["mount", "mnist"],
  ]) {
    const { code, stderr } = await cli.spawn(words)
    assert.deepEqual([code, /must be named, since the dataset's directory is called ".ssh"/.test(stderr)], [2, true], stderr)
  }
  await assert.rejects(stat(join(cli.directory, ".ssh")), { code: "ENOENT" })
  assert.match((await ok("data", "pull", "mnist", join(cli.directory, "mnist"))).stdout, /Downloaded 1 file/)
})

test("a dataset is pulled into a folder that has files only if it is named", async () => {
  await ann.client.createData({ body: { Name: "Notes", AccessInfo: "/users/ann/notes" } })
  const { filesUrl } = server.quayside
  const put = { method: "PUT", headers: { authorization: ann.authorization }, body: "theirs" }
  assert.equal((await fetch(`${filesUrl}/users/ann/notes/a.txt`, put)).status, 201)
  const folder = join(cli.directory, "notes")
  await mkdir(folder)
  const pulled = await cli.spawn(["data", "pull", "Notes"])
  assert.match(pulled.stdout, /Downloaded 1 file/, pulled.stderr)
  await writeFile(join(folder, "a.txt"), "mine")
  const { code, stderr } = await cli.spawn(["data", "pull", "Notes"])
  assert.deepEqual([code, /notes is there already/.test(stderr)], [5, true], stderr)
  assert.equal(await readFile(join(folder, "a.txt"), "utf8"), "mine")
  assert.match((await cli.spawn(["data", "pull", "Notes", "./notes"])).stdout, /Downloaded 1 file/)
})

test("administrators manage people, groups, grants and read the audit", async () => {
  const env = { QUAYSIDE_SERVER: baseUrl, QUAYSIDE_TOKEN: bossToken }
  const run = async (words: string[], input = "") => {
    const outcome = await boss.run(words, { env, input })
    assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`)
    return outcome
  }
  await run(["user", "create", "bob", "--password-stdin", "--limit", "MaxRuns=2", "--limit", "MaxMemory=2GiB"], "choose a better one\n")
  await run(["user", "edit", "bob", "--limit", "MaxCpus=none"])
  assert.deepEqual((await run(["user", "show", "bob", "--json"])).json().Limits, { MaxRuns: 2, MaxMemory: 2_048, MaxCpus: null })
  await run(["group", "create", "team", "ann"])
  await run(["group", "add", "team", "bob"])
  await run(["group", "remove", "team", "ann"])
  assert.match((await run(["group", "ls"])).stdout, /team +bob/)
  await run(["group", "add", "team", "ann"])
  const { ID } = (await ok("grant", "create", "read", "--data", "Spectra", "--user", "bob", "--until", "7d", "--json")).json()
  assert.match((await ok("grant", "ls")).stdout, /data \d+ +bob +read +20/)
  await ok("grant", "rm", String(ID))
  assert.match((await run(["audit", "--since", "1h", "--user", "ann"])).stdout, /ann +grant\.deleted|ann +grant:delete/)
  assert.equal((await cli.run(["audit"])).code, 3)
  await run(["user", "rm", "bob", "--yes"])
})

test("bad words exit with 2 and say what was wanted", async () => {
  for (const [words, message] of [
    [["strat"], /unknown command 'strat'[\s\S]*start/],
    [["start"], /missing required argument 'project'/],
    [["start", "Fit", "--memory", "4"], /--memory must be a size with its unit, such as 4GiB or 512MiB; got "4"/],
    [["start", "Fit", "--cpus", "-1"], /--cpus/],
    [["logs", "Fit", "--tail", "x"], /--tail must be a whole number/],
    [["grant", "create", "read", "--data", "Spectra"], /needs one of --user and --group/],
    [["completion", "tcsh"], /bash, zsh, fish; got "tcsh"/],
  ] as const) {
    const { code, stderr } = await cli.run(words)
    assert.deepEqual([code, message.test(stderr)], [2, true], `${words.join(" ")}: ${stderr}`)
  }
})

test("an address where nothing listens exits with 7", async () => {
  const [port] = await freePorts(1)
  const env = { QUAYSIDE_SERVER: `http://localhost:${port}`, QUAYSIDE_TOKEN: "qs_x" }
  const { code, stderr } = await cli.run(["ls"], { env })
  assert.deepEqual([code, /http:\/\/localhost:\d+ cannot be reached/.test(stderr)], [7, true], stderr)
})

test("doctor finds nothing wrong with a server that works, and names the page for what fails", async () => {
  const well = await ok("doctor", "--json")
  assert.deepEqual(
    well.json<{ checks: { name: string; ok: boolean }[] }>().checks.map(({ name, ok }) => [name, ok]),
    ["context", "server", "readiness", "token", "files", "events"].map((name) => [name, true]),
  )
  const ill = await cli.run(["doctor"], { env: { QUAYSIDE_SERVER: baseUrl, QUAYSIDE_TOKEN: "qs_no" } })
  assert.equal(ill.code, 1)
  assert.match(ill.stdout, /token +failed .*how-to\/people\.md/)
})

test("logout forgets the context", async () => {
  await ok("logout")
  assert.equal((await cli.run(["whoami"])).code, 3)
})
