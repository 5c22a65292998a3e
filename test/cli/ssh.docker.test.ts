import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdir, readFile, stat, writeFile } from "node:fs/promises"
import { connect, createServer } from "node:net"
import { dirname, join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { basicAuth, createClient } from "#client"
import { runSteps, stepsOf } from "../docs/page.ts"
import { eventually } from "../fixtures/eventually.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { startServerProcess } from "../server-process.ts"
import { openCommandLine } from "./program.ts"

const run = promisify(execFile)
const server = await startServerProcess()
after(() => server[Symbol.asyncDispose]())
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())
const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "ssh" } })
const signedIn = { QUAYSIDE_SERVER: server.baseUrl, QUAYSIDE_TOKEN: Token }

await startProject("Fit", "quayside-test/ssh-tools", "")
await startProject("Small", "quayside-test/busybox", "httpd -f -p 8000")
const written = (await cli.spawn(["ssh-config", "--json"], { env: signedIn })).json<{
  config: string
  included: string
  knownHosts: string
}>()
const env = await toolsOf(cli.directory)

async function startProject(name: string, image: string, command: string) {
  const { ID: ImageID } = await admin.createImage({ body: { Name: name, Image: image, Port: "8000", Command: command } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: name, Type: "http", ImageID } })
  await admin.startRun({ body: { ProjectID, wait: true } })
}

/** OpenSSH reads `~` from the system's accounts, so each tool is told the file of the test. */
async function toolsOf(directory: string): Promise<NodeJS.ProcessEnv> {
  const folder = join(directory, "tools")
  await mkdir(folder)
  for (const name of ["ssh", "scp", "sftp"])
    await writeFile(join(folder, name), `#!/bin/sh\nexec /usr/bin/${name} -F '${written.included}' "$@"\n`, { mode: 0o755 })
  const quayside = fileURLToPath(new URL("../../bin/quayside.js", import.meta.url))
  await writeFile(join(folder, "quayside"), `#!/bin/sh\nexec '${process.execPath}' '${quayside}' "$@"\n`, { mode: 0o755 })
  const home = { HOME: directory, XDG_CONFIG_HOME: join(directory, "config") }
  return { PATH: `${folder}:${dirname(process.execPath)}:${process.env.PATH}`, ...home, ...signedIn }
}

async function tool(name: string, ...words: string[]) {
  return run(name, words, { env, cwd: cli.directory, timeout: 60_000, maxBuffer: 1 << 26 })
}

/** A program that gets text on its standard input. */
async function fed(input: string, name: string, ...words: string[]) {
  const child = spawn(name, words, { env, cwd: cli.directory })
  const [output, errors] = [child.stdout.toArray(), child.stderr.toArray()]
  child.stdin.end(input)
  const [code] = await once(child, "close")
  return { code, stdout: Buffer.concat(await output).toString(), stderr: Buffer.concat(await errors).toString() }
}

test("ssh-config says what it wrote, asks nothing, and changes nothing when it is called again", async () => {
  const texts = () => Promise.all([written.config, written.included, written.knownHosts].map((file) => readFile(file, "utf8")))
  const before = await texts()
  assert.equal(before[1], `Include "${written.config}"\n`)
  await writeFile(written.included, `${before[1]}\nHost other\n`)
  const again = await cli.spawn(["ssh-config"], { env: signedIn })
  assert.match(again.stdout, /Wrote .*config[\s\S]*includes it already[\s\S]*ssh NAME\.quayside/)
  assert.deepEqual(await texts(), [before[0], `${before[1]}\nHost other\n`, before[2]])
  const folder = dirname(written.config)
  const modes = ["", "host_ed25519", "id_ed25519"].map(async (name) => (await stat(join(folder, name))).mode & 0o777)
  assert.deepEqual(await Promise.all(modes), [0o700, 0o600, 0o600])
  assert.equal((await cli.spawn(["ssh-config", "--print"], { env: signedIn })).stdout, before[0])
})

test("ssh runs programs with their input, both outputs and exit code, and a shell on a terminal", async () => {
  const program = await fed("through", "ssh", "Fit.quayside", "cat; echo; echo warned >&2; exit 9")
  assert.deepEqual([program.code, program.stdout, program.stderr], [9, "through\n", "warned\n"])
  const shell = await fed("stty size; exit 3\r", "ssh", "-tt", "Fit.quayside")
  assert.equal(shell.code, 3, shell.stderr)
  const script = await fed("echo $((6 * 7))\n", "ssh", "-T", "Fit.quayside")
  assert.equal(script.stdout, "42\n", script.stderr)
})

test("ssh ends the program with its connection, and names a run that is not there", async () => {
  const child = spawn("ssh", ["Fit.quayside", "echo begun; exec sleep 54321"], { env, stdio: ["ignore", "pipe", "ignore"] })
  await once(child.stdout, "data")
  child.kill()
  await eventually("the program has ended", async () => {
    const { stdout } = await cli.run(["exec", "Fit", "--", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], { env: signedIn })
    return !stdout.includes("sleep 54321")
  })
  await assert.rejects(tool("ssh", "None.quayside", "true"), /There is no run "None"/)
})

test("another key is not let in, and another host key is noticed", async () => {
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(cli.directory, "stranger")])
  const stranger = `IdentityFile=${join(cli.directory, "stranger")}`
  await assert.rejects(
    tool("ssh", "-o", stranger, "-o", "IdentityAgent=none", "-F", "none", ...(await proxyOnly()), "Fit.quayside", "true"),
    /Permission denied/,
  )
  const known = join(cli.directory, "other_known_hosts")
  const key = (await readFile(join(cli.directory, "stranger.pub"), "utf8")).split(" ").slice(0, 2).join(" ")
  await writeFile(known, `quayside-client ${key}\n`)
  await assert.rejects(tool("ssh", "-o", `UserKnownHostsFile=${known}`, "Fit.quayside", "true"), /IDENTIFICATION HAS CHANGED/)
})

/** The block's command without its key. */
async function proxyOnly(): Promise<string[]> {
  const [, command = ""] = /ProxyCommand (.*)/.exec(await readFile(written.config, "utf8")) ?? []
  return ["-o", `ProxyCommand=${command}`, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes"]
}

/** One has a second line, `b`. */
const oddNames = ["-rf", "a", "link", "outside", "pipe", "two"]

for (const name of ["Fit", "Small"]) {
  test(`sftp and scp move files to and from ${name}, whose image has no sftp-server`, async () => {
    const data = randomBytes(3_000_001)
    await writeFile(join(cli.directory, "a b'c.bin"), data, { mode: 0o640 })
    const commands = [
      "mkdir /tmp/d",
      `put "a b'c.bin" /tmp/d/one`,
      "chmod 600 /tmp/d/one",
      "rename /tmp/d/one /tmp/d/two",
      "symlink two /tmp/d/link",
      "ls -l /tmp/d",
      "get /tmp/d/link back.bin",
      "put /etc/hostname /tmp/d/gone",
      "rm /tmp/d/gone",
    ]
    const sftp = await fed(`${commands.join("\n")}\n`, "sftp", "-b", "-", `${name}.quayside`)
    assert.equal(sftp.code, 0, sftp.stderr)
    assert.match(sftp.stdout, /lrwxrwxrwx.* link\n-rw------- 1 \d+ \d+ +3000001 .* two\n/)
    assert.deepEqual(await readFile(join(cli.directory, "back.bin")), data)
    await tool("scp", "-p", "-r", `${name}.quayside:/tmp/d`, "scp-back")
    assert.deepEqual(await readFile(join(cli.directory, "scp-back/two")), data)
    await run("rm", ["-r", join(cli.directory, "scp-back")])
    await tool("ssh", `${name}.quayside`, "cd /tmp/d && touch -- '-rf' 'a\nb' && mkfifo pipe && ln -s /etc/passwd outside")
    const odd = "get /tmp/none\nget /tmp/d/pipe\nput back.bin /none\nmkdir /tmp/d\nls -1 /tmp/d\nrm /tmp/d/-rf\nls -1 /tmp/d\n"
    const { stdout, stderr } = await fed(odd, "sftp", `${name}.quayside`)
    assert.match(stderr, /"\/tmp\/none" not found[\s\S]*pipe[\s\S]*Permission denied[\s\S]*"\/tmp\/d": Failure/)
    assert.deepEqual(
      stdout.match(/^\/tmp\/d\/.*$/gm)?.map((path) => path.slice(7)),
      [...oddNames, ...oddNames.filter((each) => each !== "-rf")],
    )
  })
}

test("rsync and git work through ssh", async () => {
  const folder = join(cli.directory, "repository")
  await mkdir(folder)
  const git = (...words: string[]) => run("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...words], { cwd: folder, env })
  await git("init", "--quiet", "--initial-branch=main")
  await writeFile(join(folder, "file.txt"), "content\n")
  await git("add", ".")
  await git("commit", "--quiet", "--message", "First")
  await tool("rsync", "--archive", "repository/", "Fit.quayside:/tmp/repository/")
  await tool("git", "clone", "--quiet", "Fit.quayside:/tmp/repository", "cloned")
  assert.equal(await readFile(join(cli.directory, "cloned/file.txt"), "utf8"), "content\n")
  await tool("ssh", "Fit.quayside", "echo more >> /tmp/repository/file.txt")
  await tool("rsync", "--archive", "--checksum", "Fit.quayside:/tmp/repository/", "repository/")
  assert.equal(await readFile(join(folder, "file.txt"), "utf8"), "content\nmore\n")
})

test("cp and scp copy to and from a run whose image has no tar", async () => {
  const folder = join(cli.directory, "for a small image")
  await mkdir(join(folder, "deep"), { recursive: true })
  await writeFile(join(folder, "file.txt"), "content\n")
  await writeFile(join(folder, "deep", "program.sh"), randomBytes(2_000_000), { mode: 0o755 })
  const sent = await cli.run(["cp", folder, "Small:/tmp"], { env: signedIn })
  assert.deepEqual([sent.code, /has no tar: files are copied one by one/.test(sent.stderr)], [0, true], sent.stderr)
  assert.equal((await tool("ssh", "Small.quayside", "cat '/tmp/for a small image/file.txt'")).stdout, "content\n")
  const back = join(cli.directory, "from a small image")
  assert.equal((await cli.run(["cp", "Small:/tmp/for a small image", back], { env: signedIn })).code, 0)
  await run("diff", ["-r", folder, join(back, "for a small image")])
  const again = await cli.run(["cp", "Small:/tmp/for a small image/file.txt", join(back, "for a small image")], { env: signedIn })
  assert.deepEqual([again.code, /is there already/.test(again.stderr)], [5, true])
  assert.equal((await stat(join(back, "for a small image", "deep", "program.sh"))).mode & 0o777, 0o755 & ~process.umask())
  await tool("scp", "-r", folder, "Small.quayside:/tmp/by scp")
})

test("scp -O copies by programs of the image, and the run reaches no agent of this machine", async () => {
  await writeFile(join(cli.directory, "old.txt"), "by the old protocol\n")
  await tool("scp", "-O", "old.txt", "Fit.quayside:/tmp/old.txt")
  await tool("scp", "-O", "Fit.quayside:/tmp/old.txt", "old-back.txt")
  assert.equal(await readFile(join(cli.directory, "old-back.txt"), "utf8"), "by the old protocol\n")
  await assert.rejects(tool("scp", "-O", "old.txt", "Small.quayside:/tmp/old.txt"), /scp/)

  const agent = join(cli.directory, "agent")
  const listening = createServer((socket) => socket.on("error", () => {}).end())
  listening.listen(agent)
  await once(listening, "listening")
  try {
    const words = ["-v", "-A", "Fit.quayside", 'echo "agent:$SSH_AUTH_SOCK"']
    const asked = await run("ssh", words, { env: { ...env, SSH_AUTH_SOCK: agent }, timeout: 60_000 })
    assert.match(asked.stderr, /agent forwarding/)
    assert.equal(asked.stdout, "agent:\n")
  } finally {
    listening.close()
  }
})

test("ssh -L reaches a port, also of a program that listens for its own container only", async () => {
  const [open = 0, inner = 0, none = 0] = await freePorts(3)
  const pairs = [`${open}:localhost:8000`, `${inner}:localhost:9000`, `${none}:localhost:1`].flatMap((pair) => ["-L", pair])
  const child = spawn("ssh", ["-N", ...pairs, "Fit.quayside"], { env, stdio: "ignore" })
  try {
    const isOpen = () =>
      fetch(`http://localhost:${open}/`).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually("ssh listens", isOpen)
    const answers = await Promise.all([1, 2, 3].map(async () => (await fetch(`http://localhost:${inner}/`)).text()))
    for (const answer of answers) assert.match(answer, /Directory listing/)
    await assert.rejects(fetch(`http://localhost:${none}/`))
  } finally {
    child.kill()
    await once(child, "exit")
  }
})

/** A program of this machine that answers each connection with one line. */
async function answering(line: string) {
  const local = createServer((socket) => socket.on("error", () => {}).end(`${line}\n`))
  local.listen(0, "127.0.0.1")
  await once(local, "listening")
  return { port: (local.address() as { port: number }).port, [Symbol.dispose]: () => void local.close() }
}

/** Reads from a port of the run's own loopback address. */
async function readInRun(port: number): Promise<string> {
  const program = `import socket; print(socket.create_connection(('localhost', ${port})).makefile().read(), end='')`
  return (await cli.run(["exec", "Fit", "--", "python3", "-c", program], { env: signedIn })).stdout
}

test("ssh -R shows a port of this machine in the run, until ssh ends", async () => {
  using local = await answering("from this machine")
  const child = spawn("ssh", ["-N", "-R", `9700:localhost:${local.port}`, "Fit.quayside"], { env, stdio: "ignore" })
  try {
    await eventually("the port is there", async () => (await readInRun(9700)) === "from this machine\n")
    await assert.rejects(
      tool("ssh", "-o", "ExitOnForwardFailure=yes", "-R", `9700:localhost:${local.port}`, "Fit.quayside", "true"),
      /remote port forwarding failed/,
    )
  } finally {
    child.kill()
    await once(child, "exit")
  }
  await eventually("the port is gone", async () => (await readInRun(9700)) === "")
})

test("forward --back shows a port of this machine in the run", async () => {
  using local = await answering("from this machine")
  const controller = new AbortController()
  const isOpen = Promise.withResolvers<string>()
  const ended = cli.run(["forward", "Fit", "--back", `9701:${local.port}`], {
    env: signedIn,
    signal: controller.signal,
    onOutput: (text) => isOpen.resolve(text),
  })
  assert.match(await isOpen.promise, new RegExp(`^localhost:9701 of run \\d+ is port ${local.port} of this machine\\.`))
  assert.equal(await readInRun(9701), "from this machine\n")
  controller.abort()
  assert.equal((await ended).code, 0)
  await eventually("the port is gone", async () => (await readInRun(9701)) === "")
})

test("an editor's ssh works: a script on standard input, a shared connection, ports on demand and a single stream", async () => {
  const [socks = 0] = await freePorts(1)
  const control = join(cli.directory, "control")
  const shared = ["-o", `ControlPath=${control}`]
  const master = spawn("ssh", ["-N", "-M", ...shared, "-D", `127.0.0.1:${socks}`, "Fit.quayside"], { env, stdio: "ignore" })
  try {
    await eventually("the shared connection is open", () =>
      tool("ssh", ...shared, "-O", "check", "Fit.quayside").then(
        () => true,
        () => false,
      ),
    )
    const bootstrap = `mkdir -p /tmp/editor && cd /tmp/editor || exit 1
cat > server.py <<'EOF'
import http.server
http.server.ThreadingHTTPServer(("127.0.0.1", 9300), http.server.SimpleHTTPRequestHandler).serve_forever()
EOF
nohup setsid python3 server.py > log 2>&1 < /dev/null &
until python3 -c 'import socket; socket.create_connection(("127.0.0.1", 9300))' 2> /dev/null; do sleep 0.1; done
echo "listening on 9300"
`
    const started = await fed(bootstrap, "ssh", "-T", ...shared, "Fit.quayside", "bash")
    assert.equal(started.stdout, "listening on 9300\n", started.stderr)
    const numbers = [1, 2, 3, 4, 5, 6, 7, 8]
    const sessions = numbers.map((number) => fed(`${number}`, "ssh", "-T", ...shared, "Fit.quayside", "cat"))
    assert.deepEqual(
      (await Promise.all(sessions)).map(({ stdout }) => Number(stdout)),
      numbers,
    )
    const bySocks = ["--silent", "--fail", "--socks5-hostname", `127.0.0.1:${socks}`, "http://localhost:9300/"]
    const answers = await Promise.all(numbers.map(() => tool("curl", ...bySocks)))
    for (const { stdout } of answers) assert.match(stdout, /server\.py/)
    await assert.rejects(tool("curl", ...bySocks.slice(0, -1), "http://localhost:1/"))
    const single = await fed("GET / HTTP/1.0\r\n\r\n", "ssh", "-W", "localhost:9300", "Fit.quayside")
    assert.match(single.stdout, /^HTTP\/1\.0 200 OK[\s\S]*server\.py/, single.stderr)
  } finally {
    master.kill()
    await once(master, "exit")
  }
})

/** Forwards ports by the command line while `use` runs with the local ones. Returns its notes. */
async function withForward(name: string, ports: readonly string[], use: (ports: number[]) => Promise<void>): Promise<string> {
  const controller = new AbortController()
  const opened = Promise.withResolvers<number[]>()
  let heard = ""
  const ended = cli.run(["forward", name, ...ports], {
    env: signedIn,
    signal: controller.signal,
    onOutput: (text) => {
      heard += text
      const found = [...heard.matchAll(/^localhost:(\d+) is port /gm)].map(([, port]) => Number(port))
      if (found.length === ports.length) opened.resolve(found)
    },
  })
  void ended.then(({ stderr }) => opened.reject(new Error(stderr)))
  try {
    await use(await opened.promise)
  } finally {
    controller.abort()
  }
  const { code, stderr } = await ended
  assert.equal(code, 0, stderr)
  return stderr
}

test("forward reaches programs that listen for their own container only, and hosts as the run reaches them", async () => {
  const { stdout } = await cli.run(["exec", "Fit", "--", "hostname"], { env: signedIn })
  const notes = await withForward("Fit", [":9000", `:${stdout.trim()}:8000`, ":no-such-host.invalid:80", ":1"], async (ports) => {
    const [inner, named, unknown, closed] = ports.map((port) => `http://127.0.0.1:${port}/`)
    for (const address of [inner, named, inner]) assert.match(await (await fetch(String(address))).text(), /Directory listing/)
    await assert.rejects(fetch(String(unknown)))
    await assert.rejects(fetch(String(closed)))
  })
  assert.match(notes, /Port 80: The run does not reach port 80 of no-such-host\.invalid: .*(not known|resolution)/)
  assert.match(notes, /Port 1: The run does not accept connections at port 1: nothing listens there/)
})

test("forward carries megabytes both ways through a program of the image", async () => {
  const sent = randomBytes(8 << 20)
  const echo = "import socket\ns = socket.create_server(('127.0.0.1', 9100))\nprint('listens', flush=True)\nc, _ = s.accept()\n"
  const program = `${echo}while d := c.recv(65536): c.sendall(d)\nc.close()`
  const listening = Promise.withResolvers<void>()
  const ended = cli.run(["exec", "Fit", "--", "python3", "-c", program], { env: signedIn, onOutput: () => listening.resolve() })
  await listening.promise
  await withForward("Fit", [":9100"], async ([port = 0]) => {
    const socket = connect(port, "127.0.0.1")
    socket.end(sent)
    assert.ok(sent.equals(Buffer.concat(await socket.toArray())))
  })
  assert.equal((await ended).code, 0)
})

test("docs/how-to/editors.md: every command works as written", async () => {
  const steps = await stepsOf(new URL("../../docs/how-to/editors.md", import.meta.url))
  assert.ok(steps.length > 2)
  const cwd = join(cli.directory, "page")
  await mkdir(cwd)
  const printed = await runSteps(steps, { cwd, env: env as Record<string, string> })
  assert.match(printed.join(""), /Now `ssh NAME\.quayside` works[\s\S]*hello from the run/)
})
