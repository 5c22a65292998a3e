import assert from "node:assert/strict"
import { after, test } from "node:test"
import type { Page } from "playwright-core"
import { openCommandLine } from "../cli/program.ts"
import { startLogin } from "../cli/terminal-login.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

const server = await startTestServer()
const browser = await openBrowser()
after(async () => {
  await browser.close()
  await server[Symbol.asyncDispose]()
})
const { baseUrl } = server.quayside

/** A page whose refused scripts and errors fail the test, and the addresses that it asked for. */
async function newPage(): Promise<{ page: Page; requests: string[] }> {
  const page = await (await freshContext(browser)).newPage()
  const requests: string[] = []
  page.on("request", (request) => requests.push(request.url()))
  page.on("pageerror", (error) => assert.fail(error.stack))
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML/.test(message.text())) assert.fail(message.text())
  })
  return { page, requests }
}

async function signedInPage() {
  const opened = await newPage()
  await opened.page.goto(`${baseUrl}/ui/`)
  await signIn(opened.page, adminPassword)
  await opened.page.getByText("Recently ended").waitFor()
  return opened
}

test("a person signs in, allows the program, and is signed in at the command line", { timeout: 120_000 }, async () => {
  await using cli = await openCommandLine()
  const login = await startLogin(cli, baseUrl)
  const { page, requests } = await newPage()
  await page.goto(login.page.href)
  await signIn(page, adminPassword)
  await page.getByText("Allow it only if you have just called").waitFor()
  await page.getByText(String(login.page.searchParams.get("name"))).waitFor()
  await page.getByText("Read and change all that you may").waitFor()
  await page.getByText("In 90 days").waitFor()
  await page.getByRole("button", { name: "Allow" }).click()
  await page.getByText("You are signed in at the command line").waitFor()
  const { code, stdout, stderr } = await login.ended
  assert.deepEqual([code, /as admin/.test(stdout)], [0, true], stderr)
  assert.equal((await cli.run(["whoami", "--json"])).json().UserName, "admin")
  assert.ok(!requests.some((url) => url.includes("qs_")), "no address has the token")
  await page.goBack()
  assert.notEqual(new URL(page.url()).pathname, "/ui/authorize", "the page is not in the history")
})

test("denying creates no token", { timeout: 120_000 }, async () => {
  await using cli = await openCommandLine()
  const before = (await server.admin.listTokens({})).data.length
  const login = await startLogin(cli, baseUrl)
  const { page } = await signedInPage()
  await page.goto(login.page.href)
  await page.getByRole("button", { name: "Deny" }).click()
  await page.getByText("You are not signed in at the command line").waitFor()
  assert.equal((await login.ended).code, 3)
  assert.equal((await server.admin.listTokens({})).data.length, before)
})

test("an address that names another host, or lacks a part, offers nothing to allow", { timeout: 120_000 }, async () => {
  const { page } = await signedInPage()
  const valid = { name: "a program", challenge: "c".repeat(43), state: "s".repeat(43), port: "40000" }
  const addresses = [{ port: "80@elsewhere.example" }, { port: "elsewhere.example" }, { port: "0" }, { challenge: "" }, { state: "x" }]
  for (const change of addresses) {
    await page.goto(`${baseUrl}/ui/authorize?${new URLSearchParams({ ...valid, ...change })}`)
    await page.getByText("No program asks for anything here").waitFor()
    assert.equal(await page.getByRole("button", { name: "Allow" }).count(), 0)
  }
})

test("no page frames the question, and the policy allows no address of this machine but by navigation", { timeout: 120_000 }, async () => {
  const { page } = await signedInPage()
  const response = await page.goto(`${baseUrl}/ui/authorize?name=x`)
  const headers = response?.headers() ?? {}
  assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/)
  assert.doesNotMatch(String(headers["content-security-policy"]), /127\.0\.0\.1/)
  assert.equal(headers["x-frame-options"], "DENY")
})
