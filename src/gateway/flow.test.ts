import assert from "node:assert/strict"
import { test } from "node:test"
import { ann, baseUrl, cookiesOf, Scene } from "./scene.ts"

const page = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "none", accept: "text/html" }

test("a browser without a session is sent to the base URL with a nonce, and comes back with a ticket to the page it wanted", async () => {
  await using scene = await Scene.open()
  const first = await scene.ask(scene.origin, "/some/page?x=1", { headers: page })
  assert.equal(first.status, 302)
  const open = new URL(first.headers.location ?? "")
  assert.equal(open.origin + open.pathname, `${baseUrl}/open`)
  assert.equal(open.searchParams.get("ID"), "1")
  assert.equal(open.searchParams.get("path"), "/some/page?x=1")
  assert.match(
    first.headers["set-cookie"]?.[0] ?? "",
    /^__Host-Http-quayside-nonce=[\w-]{22}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=3600$/,
  )

  const nonce = open.searchParams.get("nonce") ?? ""
  const ticket = scene.gateway.tickets.issue({
    visitor: ann,
    target: scene.target,
    nonce,
    path: open.searchParams.get("path") ?? undefined,
  })
  assert.ok(ticket.startsWith(`http://${scene.origin}/.quayside/enter?ticket=`))
  const { pathname, search } = new URL(ticket)
  const entered = await scene.ask(scene.origin, pathname + search, { headers: { ...page, cookie: cookiesOf(first) } })
  assert.equal(entered.status, 302)
  assert.equal(entered.headers.location, "/some/page?x=1")
  assert.match(entered.headers["set-cookie"]?.[0] ?? "", /^__Host-Http-quayside-run=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/)

  const answer = await scene.ask(scene.origin, "/some/page?x=1", { headers: { ...page, cookie: cookiesOf(entered) } })
  assert.equal(answer.status, 200)
  assert.equal(JSON.parse(answer.text).url, "/some/page?x=1")
  assert.equal(JSON.parse(answer.text).headers.cookie, undefined)
})
