import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { startProvider } from "../fixtures/openid/openid-provider.ts"
import { ensureWebBuild } from "../fixtures/web-build.ts"
import { startTestServer, type TestServer } from "../test-server.ts"

/**
 * The responses of the pages for browsers, by hand from the specification. Pages accept a session's
 * cookie and no other credential. `in`: signed in by one; `out`: everybody else. A text is the
 * target of a redirect; `provider` is the OpenID provider's.
 */
interface Row {
  in: number | string
  out: number | string
}
const everybody = (what: number | string): Row => ({ in: what, out: what })
const shared: Readonly<Record<string, Row>> = {
  "/": everybody("/ui/"),
  "/open": { in: 404, out: "/ui/sign-in" },
  "/ui/": { in: 200, out: "/ui/sign-in" },
  "/ui/sign-in": everybody(200),
  "/ui/style.css": everybody(200),
  "/ui/assets/": everybody(404),
  "/ui/icon.svg": everybody(200),
}
const rows: Readonly<Record<"with a provider" | "without one", Readonly<Record<string, Row>>>> = {
  "with a provider": { ...shared, "/oidc/login": everybody("provider"), "/oidc/callback": everybody(401) },
  "without one": { ...shared, "/oidc/login": everybody(404), "/oidc/callback": everybody(404) },
}

await ensureWebBuild()
const provider = await startProvider("http://localhost:1")
const servers = {
  "with a provider": await startTestServer({
    "oidc-issuer": provider.issuer,
    "oidc-client-id": provider.clientId,
    "oidc-client-secret": provider.clientSecret,
  }),
  "without one": await startTestServer(),
}
after(async () => {
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

type Headers = Record<string, string>

/** Every credential that a browser or another client can send; `in`: a live session's cookie. */
async function callersOf({ quayside, person, admin }: TestServer): Promise<{ in: Record<string, Headers>; out: Record<string, Headers> }> {
  const cookieOf = async (name: string) => {
    const signedIn = await sendRequest(quayside.baseUrl, "POST", "/session", { body: { UserName: name, Password: `${name}-password` } })
    return String(signedIn.headers["set-cookie"]).split(";", 1)[0] as string
  }
  const [ann] = [await person("ann"), await person("boss", { IsAdmin: true }), await person("out"), await person("gone")]
  const [anns, bosss, outs, gones, ended] = [
    await cookieOf("ann"),
    await cookieOf("boss"),
    await cookieOf("out"),
    await cookieOf("gone"),
    await cookieOf("ann"),
  ]
  const idOf = async (UserName: string) => (await admin.readUser({ query: { UserName } })).ID
  await admin.updateUser({ body: { ID: await idOf("out"), IsDisabled: true } })
  await admin.deleteUser({ query: { ID: await idOf("gone") } })
  await sendRequest(quayside.baseUrl, "DELETE", "/session", { headers: { cookie: ended, "sec-fetch-site": "same-origin" } })
  return {
    in: { "a session": { cookie: anns }, "an administrator's session": { cookie: bosss } },
    out: {
      nothing: {},
      "a session that has ended": { cookie: ended },
      "a disabled person's session": { cookie: outs },
      "a deleted person's session": { cookie: gones },
      "a session that never was": { cookie: `${anns.split("=")[0]}=${"a".repeat(43)}` },
      "two sessions": { cookie: `${anns}; ${bosss}` },
      "a token": { authorization: ann.authorization },
      "a password": { authorization: basicAuth("ann", "ann-password") },
      "a wrong password": { authorization: basicAuth("ann", "wrong") },
    },
  }
}

const tab = { accept: "text/html", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }

function resultOf({ status, headers }: HttpAnswer, baseUrl: string): number | string {
  if (status !== 302) return status
  const url = new URL(String(headers.location), baseUrl)
  return url.origin === provider.issuer || url.href.startsWith(provider.issuer) ? "provider" : url.pathname
}

/** A page of the web UI without the facts that it carries, among which is the person. */
function withoutPerson(page: string): string {
  return page.replace(/<meta name="quayside" content="[^"]*">/, "")
}

test("every page for browsers has a row", () => {
  const source = ["pages.ts", "openid.ts"]
    .map((name) => readFileSync(new URL(`../../src/api/pages/${name}`, import.meta.url), "utf8"))
    .join()
  const paths = [...source.matchAll(/"(\/[\w/.-]*)": \w/g)].map(([, path]) => path)
  assert.deepEqual([...new Set(paths)].sort(), Object.keys(rows["without one"]).sort())
})

for (const [how, server] of Object.entries(servers) as [keyof typeof rows, TestServer][]) {
  test(`everybody gets at every page what their session gives them, ${how}, and no other proof counts there`, async () => {
    const { baseUrl } = server.quayside
    const callers = await callersOf(server)
    for (const [path, row] of Object.entries(rows[how])) {
      const target = path === "/open" ? "/open?ID=999999999" : path
      for (const side of ["in", "out"] as const) {
        const texts = new Set<string>()
        for (const [who, headers] of Object.entries(callers[side])) {
          const where = `${path} with ${who}`
          const answer = await sendRequest(baseUrl, "GET", target, { headers: { ...tab, ...headers } })
          assert.equal(resultOf(answer, baseUrl), row[side], `${where}: ${answer.text.slice(0, 300)}`)
          const cookies = String(answer.headers["set-cookie"] ?? "")
          assert.ok(!/quayside_session=[^;]/.test(cookies), `${where} makes a session`)
          texts.add(side === "in" ? withoutPerson(answer.text) : answer.text)
          const alias = await sendRequest(baseUrl, "HEAD", `/admin${target}`, { headers: { ...tab, ...headers } })
          assert.deepEqual([resultOf(alias, baseUrl), alias.text], [row[side], ""], `HEAD of ${where}`)
          assert.equal((await sendRequest(baseUrl, "POST", target, { headers: { ...headers, origin: baseUrl } })).status, 405, where)
        }
        assert.equal(texts.size, 1, `${path} answers callers who are ${side} differently`)
      }
    }
  })
}
