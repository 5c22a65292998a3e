import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { Browser } from "../fixtures/cookie-jar.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { startProvider } from "../fixtures/openid/openid-provider.ts"
import { ensureWebBuild } from "../fixtures/web-build.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { differences, runSteps, stepsOf } from "./page.ts"

const folder = new URL("../../docs/how-to/", import.meta.url)
const pages = readdirSync(folder).filter((name) => readFileSync(new URL(name, folder), "utf8").includes("\n```sh\n"))
/**
 * Pages that need more than a fresh server. A test of `ssh` follows `editors.md`, `test/python`
 * follows `python.md`, and a test with a cluster `kubernetes.md`.
 */
const special = ["openid.md", "command-line.md", "editors.md", "python.md", "kubernetes.md"]
/** Settings of a page's server. */
const settings: Readonly<Record<string, Readonly<Record<string, string>>>> = { "gpus.md": { QUAYSIDE_MOCK_GPUS: "2" } }

/**
 * Runs a page's commands against a fresh server (unless `options` say otherwise) and compares their
 * output with the page.
 */
async function follow(name: string, server: ServerProcess, env: Record<string, string> = {}): Promise<string[]> {
  const steps = await stepsOf(new URL(name, folder))
  assert.ok(steps.length > 0, `${name} has no commands`)
  const printed = await runSteps(steps, { cwd: server.directory, env: { API: server.baseUrl, FILES: server.filesUrl, ...env } })
  assert.equal(printed.length, steps.length)
  steps.forEach((step, i) => {
    const text = printed[i] ?? ""
    if (step.answer !== undefined)
      assert.deepEqual(differences(step.answer, lastJson(text)), [], `the answer at line ${step.line}: ${text}`)
    else assert.ok(!/"ok": ?false/.test(text), `what is refused at line ${step.line}: ${text}`)
  })
  return printed
}

/** If a step has several outputs, the page shows the last. */
function lastJson(text: string): unknown {
  const start = text.lastIndexOf("\n{")
  return JSON.parse(text.trim().startsWith("{") && start < 0 ? text : text.slice(start + 1))
}

for (const name of pages.filter((each) => !special.includes(each))) {
  test(`docs/how-to/${name}: every command works as written and answers as shown`, async () => {
    await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", ...settings[name] })
    await follow(name, server)
  })
}

test("docs/how-to/command-line.md: every command works as written and answers as shown", async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  await writeFile(join(server.directory, "token"), `${(await admin.createToken({ body: { Name: "page" } })).Token}\n`)
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  const env = { PATH, CHECKOUT: resolve(import.meta.dirname, "../.."), HOME: server.directory, XDG_CONFIG_HOME: "" }
  const printed = await follow("command-line.md", server, env)
  assert.match(printed.join(""), /Fit is ready[\s\S]*hello from the run\nsome input\n/)
})

/** The settings that a page shows; the test replaces some values. */
function settingsOf(name: string, own: Readonly<Record<string, string>>): Record<string, string> {
  const [, block = ""] = /^```ini\n([\s\S]*?)^```$/m.exec(readFileSync(new URL(name, folder), "utf8")) ?? []
  const lines = block.trim().split("\n")
  return Object.fromEntries(
    lines.map((line) => {
      const [variable = "", ...value] = line.split("=")
      return [variable, own[variable] ?? value.join("=")]
    }),
  )
}

test("docs/how-to/openid.md: its settings and commands connect a real provider", async () => {
  const [port = 0] = await freePorts(1)
  await using provider = await startProvider(`http://localhost:${port}`)
  const settings = settingsOf("openid.md", {
    QUAYSIDE_OIDC_ISSUER: provider.issuer,
    QUAYSIDE_OIDC_CLIENT_ID: provider.clientId,
    QUAYSIDE_OIDC_CLIENT_SECRET: provider.clientSecret,
  })
  assert.ok(Object.keys(settings).length > 5)
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_PORT: String(port), ...settings })
  const baseUrl = `http://localhost:${port}`
  const signIn = async (subject: string) => {
    const browser = new Browser()
    const form = await browser.follow(`${baseUrl}/oidc/login`)
    const { answer } = await browser.follow(form.url, () => true, { method: "POST", body: new URLSearchParams({ account: subject }) })
    assert.equal(answer.status, 200, await answer.text())
    return (await browser.ask(`${baseUrl}/whoami`)).json()
  }
  await ensureWebBuild()
  const page = await (await fetch(`${baseUrl}/ui/sign-in`)).text()
  assert.match(page, /&#34;name&#34;:&#34;Example Lab&#34;/)
  await provider.tell("s-1", { preferred_username: "Boss", groups: ["quayside-admins", "lab-7", "elsewhere"] })
  const boss = await signIn("s-1")
  assert.deepEqual([boss.UserName, boss.IsAdmin, boss.Groups], ["boss", true, ["lab-7"]])
  const printed = await follow("openid.md", server, { API: baseUrl, ISSUER: provider.issuer })
  assert.match(printed[1] ?? "", new RegExp(`^302 ${provider.issuer}/auth\\?`))
  await provider.tell("s-2", { preferred_username: "ann" })
  await assert.rejects(signIn("s-2"), /disabled/, "the page's last command disabled her")
})
