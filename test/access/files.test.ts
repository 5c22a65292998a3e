import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { createGrant, deleteGrant } from "./grants.ts"
import { type PersonName, startPopulatedServer } from "./populated-server.ts"
import { forEachConcurrently } from "./requests.ts"

/**
 * What a path is to somebody, by the specification: a home and a dataset of one's own, one that is
 * granted or published, a directory that only leads to such a one, and all else. `none` does not
 * exist for them: 404 for every method.
 */
type Level = "none" | "traverse" | "read" | "write"

const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { filesUrl, baseUrl } = testServer.quayside

const dav = (
  who: string | undefined,
  method: string,
  path: string,
  more: { body?: string; headers?: Record<string, string> } = {},
): Promise<HttpAnswer> =>
  sendRequest(filesUrl, method, path, {
    as: who,
    body: more.body,
    headers: { ...more.headers, ...(more.body === undefined ? {} : { "content-type": "text/plain" }) },
  })

const boss = people.boss.authorization
const readOnly = bearerAuth((await people.ann.client.createToken({ body: { Name: "r", Scopes: ["read"] } })).Token)
const forRun = bearerAuth((await people.ann.client.createToken({ body: { Name: "x", Scopes: ["run:1"] } })).Token)
const forFiles = bearerAuth((await people.ann.client.createFilesToken()).Token)
/** Resources of gwen, to whom others grant `write`. */
const gwensReading = bearerAuth((await people.gwen.client.createToken({ body: { Name: "r", Scopes: ["read"] } })).Token)
const gwensForRun = bearerAuth((await people.gwen.client.createToken({ body: { Name: "x", Scopes: ["run:1"] } })).Token)
const gwensForFiles = bearerAuth((await people.gwen.client.createFilesToken()).Token)

type Caller = PersonName | "readOnly" | "forRun" | "forFiles" | "gwensReading" | "gwensForRun" | "gwensForFiles"
/** A grantee with `write` can write; `use` and `read` can read. */
const granted = { gwen: "write", guy: "read", gil: "read", mia: "none" } as const
const none = { gwen: "none", guy: "none", gil: "none" } as const

/** A directory of each kind, with a file and a directory in it. */
const places: Record<string, { path: string; levels: Partial<Record<Caller, Level>> }> = {
  "a granted dataset": {
    path: "/users/ann/granted",
    levels: { ...granted, ann: "write", boss: "write", gwensReading: "read", gwensForRun: "none", gwensForFiles: "write" },
  },
  "a dataset that is granted to groups": { path: "/users/ann/for-groups", levels: { ...granted, gwensReading: "read" } },
  "a dataset that is granted for an hour": { path: "/users/ann/for-an-hour", levels: granted },
  "a dataset that was granted until a moment ago": {
    path: "/users/ann/until-now",
    levels: { ...none, ann: "write", gwensForFiles: "none" },
  },
  "a dataset that was granted to groups until a moment ago": { path: "/users/ann/groups-until-now", levels: none },
  "a dataset of which the grants were taken back": { path: "/users/ann/taken-back", levels: { ...none, gwensReading: "none" } },
  "a granted dataset outside of homes": { path: "/sets/granted", levels: { ...granted, ann: "write", boss: "write" } },
  "a granted dataset that is deleted": { path: "/users/ann/granted-gone", levels: { ...none, ann: "write", boss: "write" } },
  "a published dataset that is granted too": { path: "/users/ann/both", levels: { gwen: "write", guy: "read", mia: "read" } },
  "a home": {
    path: "/users/ann/plain",
    levels: { ann: "write", readOnly: "read", forFiles: "write", forRun: "none", bob: "none", mia: "none", boss: "write" },
  },
  "a private dataset": {
    path: "/users/ann/private",
    levels: { ann: "write", readOnly: "read", forFiles: "write", bob: "none", boss: "write" },
  },
  "a published dataset": {
    path: "/users/ann/published",
    levels: { ann: "write", readOnly: "read", bob: "read", mia: "read", boss: "write" },
  },
  "a deleted dataset that was published": { path: "/users/ann/gone", levels: { ann: "write", bob: "none", boss: "write" } },
  "a dataset outside of homes": { path: "/sets/theirs", levels: { ann: "write", bob: "none", boss: "write" } },
  "a published dataset outside of homes": { path: "/sets/all", levels: { ann: "write", bob: "read", readOnly: "read", boss: "write" } },
  "a directory outside of everything": { path: "/attic", levels: { ann: "none", bob: "none", forFiles: "none", boss: "write" } },
  "beside a published dataset, with a name that begins alike": {
    path: "/users/ann/published2",
    levels: { ann: "write", bob: "none", boss: "write" },
  },
}
interface Dataset {
  published?: true
  deleted?: true
  given?: Omit<Parameters<typeof createGrant>[3], "by">
  takenBack?: true
}
const datasets: Record<string, Dataset> = {
  "/users/ann/granted": { given: {} },
  "/users/ann/for-groups": { given: { to: "groups" } },
  "/users/ann/for-an-hour": { given: { until: "later" } },
  "/users/ann/until-now": { given: { until: "over" } },
  "/users/ann/groups-until-now": { given: { to: "groups", until: "over" } },
  "/users/ann/taken-back": { given: {}, takenBack: true },
  "/users/ann/granted-gone": { given: {}, deleted: true },
  "/users/ann/both": { given: {}, published: true },
  "/sets/granted": { given: {} },
  "/users/ann/private": {},
  "/users/ann/published": { published: true },
  "/users/ann/gone": { published: true, deleted: true },
  "/sets/theirs": {},
  "/sets/all": { published: true },
}
for (const [AccessInfo, { published, deleted, given, takenBack }] of Object.entries(datasets)) {
  const fields = { Name: AccessInfo, AccessInfo, UserName: "ann", IsPublished: published === true }
  const { ID } = await testServer.admin.createData({ body: fields })
  if (given) await createGrant(server, "data", { id: ID }, { by: "ann", ...given })
  if (takenBack) await deleteGrant(server, "data", { id: ID }, "ann")
  if (deleted) await testServer.admin.deleteData({ query: { ID } })
}
for (const { path } of Object.values(places)) await dav(boss, "MKCOL", path)

const callers: Record<string, string> = {
  ...Object.fromEntries(Object.entries(people).map(([name, { authorization }]) => [name, authorization])),
  readOnly,
  forRun,
  forFiles,
  gwensReading,
  gwensForRun,
  gwensForFiles,
}
/** The owner of the credential. */
const ownerOf = (caller: string): string => {
  if (caller.startsWith("gwens")) return "gwen"
  return callers[caller] === people[caller as PersonName]?.authorization ? caller : "ann"
}
const onlyReads = (caller: string) => caller === "readOnly" || caller === "gwensReading"
const opensRuns = (caller: string) => caller === "forRun" || caller === "gwensForRun"
let count = 0

/** A new file and a new directory at that path, made by the administrator. */
async function things(path: string): Promise<{ file: string; directory: string; absent: string }> {
  count += 1
  const [file, directory] = [`${path}/f${count}.txt`, `${path}/d${count}`]
  assert.equal((await dav(boss, "PUT", file, { body: "text" })).status, 201)
  assert.equal((await dav(boss, "MKCOL", directory)).status, 201)
  return { file, directory, absent: `${path}/a${count}.txt` }
}

/** A file of the caller's own, to copy and move from. */
async function ownFile(who: string): Promise<string> {
  count += 1
  const path = `/users/${ownerOf(who)}/own${count}.txt`
  await dav(boss, "PUT", path, { body: "own" })
  return path
}

const files = new Map<string, Promise<unknown>>()
/** Made at the first use of this name. */
function kept<T>(name: string, make: () => Promise<T>): Promise<T> {
  const made = (files.get(name) as Promise<T> | undefined) ?? make()
  files.set(name, made)
  return made
}

const lockBody = `<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`
const patch = `<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="urn:x">1</x></D:prop></D:set></D:propertyupdate>`
type Request = [method: string, path: string, more?: { body?: string; headers?: Record<string, string> }]
const to = (path: string) => ({ headers: { destination: filesUrl + path } })

/** Each method with its status for a writer, and whether `read` suffices. */
const methods: Record<
  string,
  { ask: (at: { file: string; directory: string; absent: string; own: string }) => Request; done: number; reads?: true; ownOnly?: true }
> = {
  OPTIONS: { ask: ({ file }) => ["OPTIONS", file], done: 200, reads: true },
  GET: { ask: ({ file }) => ["GET", file], done: 200, reads: true },
  HEAD: { ask: ({ file }) => ["HEAD", file], done: 200, reads: true },
  "GET of a directory": { ask: ({ directory }) => ["GET", directory], done: 405, reads: true },
  "PROPFIND of a file": { ask: ({ file }) => ["PROPFIND", file, { headers: { depth: "0" } }], done: 207, reads: true },
  "PROPFIND of a directory": { ask: ({ directory }) => ["PROPFIND", directory, { headers: { depth: "1" } }], done: 207, reads: true },
  "PUT over a file": { ask: ({ file }) => ["PUT", file, { body: "new" }], done: 204 },
  "PUT of a new file": { ask: ({ absent }) => ["PUT", absent, { body: "new" }], done: 201 },
  "PUT with a stale tag": { ask: ({ file }) => ["PUT", file, { body: "new", headers: { "if-match": '"stale"' } }], done: 412 },
  "PUT below what is absent": { ask: ({ absent }) => ["PUT", `${absent}/x`, { body: "new" }], done: 409 },
  MKCOL: { ask: ({ absent }) => ["MKCOL", absent], done: 201 },
  "MKCOL over a directory": { ask: ({ directory }) => ["MKCOL", directory], done: 405 },
  "DELETE of a file": { ask: ({ file }) => ["DELETE", file], done: 204 },
  "DELETE of a directory": { ask: ({ directory }) => ["DELETE", directory], done: 204 },
  PROPPATCH: { ask: ({ file }) => ["PROPPATCH", file, { body: patch, headers: { "content-type": "application/xml" } }], done: 207 },
  "COPY in": { ask: ({ own, absent }) => ["COPY", own, to(absent)], done: 201 },
  "MOVE in": { ask: ({ own, absent }) => ["MOVE", own, to(absent)], done: 201 },
  "COPY out": { ask: ({ file, own }) => ["COPY", file, to(`${own}.copy`)], done: 201, reads: true, ownOnly: true },
  "MOVE out": { ask: ({ file, own }) => ["MOVE", file, to(`${own}.moved`)], done: 201, ownOnly: true },
  LOCK: { ask: ({ file }) => ["LOCK", file, { body: lockBody, headers: { "content-type": "application/xml" } }], done: 200 },
  "LOCK of a new file": {
    ask: ({ absent }) => ["LOCK", absent, { body: lockBody, headers: { "content-type": "application/xml" } }],
    done: 201,
  },
  UNLOCK: {
    ask: ({ file }) => ["UNLOCK", file, { headers: { "lock-token": "<urn:uuid:00000000-0000-0000-0000-000000000000>" } }],
    done: 409,
  },
}

function expected(level: Level, caller: string, { done, reads, ownOnly }: (typeof methods)[string]): number {
  if (opensRuns(caller)) return 403
  // A read-only credential writes nowhere, its own home included. The refusal precedes every
  // lookup.
  if (onlyReads(caller) && (!reads || ownOnly)) return 403
  if (level === "none") return 404
  return reads || level === "write" ? done : 403
}

for (const [method, how] of Object.entries(methods)) {
  test(`${method} is answered by what the place is to somebody, and what they may not see is 404`, async () => {
    const cases = Object.entries(places).flatMap(([says, { path, levels }]) =>
      Object.entries(levels).map(([caller, level]) => ({ says, path, caller, level })),
    )
    const wrong: string[] = []
    await forEachConcurrently(cases, async ({ says, path, caller, level }) => {
      const status = expected(level, caller, how)
      // Rejected requests and reads change nothing, so they share files.
      const isShared = status >= 300 || (how.reads === true && !how.ownOnly)
      const make = isShared ? kept : <T>(_name: string, made: () => Promise<T>) => made()
      const at = { ...(await make(path, () => things(path))), own: await make(caller, () => ownFile(caller)) }
      const answer = await dav(callers[caller], ...how.ask(at))
      if (answer.status !== status)
        wrong.push(`${caller} at ${says} (${level}): ${status} is expected, got ${answer.status} ${answer.text.slice(0, 200)}`)
      if (level === "none") {
        const never = { file: "/users/never/f.txt", directory: "/users/never/d", absent: "/users/never/a.txt", own: at.own }
        const missing = await dav(callers[caller], ...how.ask(never))
        const words = ({ status: told, body }: HttpAnswer) => `${told} ${body.msg} ${body.code}`
        if (words(answer) !== words(missing)) wrong.push(`${caller} at ${says}: ${words(answer)}, and of what never was ${words(missing)}`)
      }
    })
    assert.deepEqual(wrong, [])
  })
}

test("parent directories list only the entries that lead to visible files, and are read-only", async () => {
  const { bob } = people
  const names = async (who: string, path: string) => {
    const { text } = await dav(who, "PROPFIND", path, { headers: { depth: "1" } })
    return [...text.matchAll(/<D:href>([^<]*)<\/D:href>/g)].map(([, href]) => href).sort()
  }
  assert.deepEqual(await names(bob.authorization, "/"), ["/", "/sets/", "/users/"])
  assert.deepEqual(await names(bob.authorization, "/users/"), ["/users/", "/users/ann/", "/users/bob/"])
  const all = ["/users/ann/both/", "/users/ann/published/"]
  assert.deepEqual(await names(bob.authorization, "/users/ann/"), ["/users/ann/", ...all])
  assert.deepEqual(await names(bob.authorization, "/sets/"), ["/sets/", "/sets/all/"])
  assert.deepEqual(await names(people.mia.authorization, "/users/ann/"), ["/users/ann/", ...all])
  const given = ["/users/ann/for-an-hour/", "/users/ann/for-groups/", "/users/ann/granted/"]
  for (const { authorization } of [people.gwen, people.guy, people.gil]) {
    assert.deepEqual(await names(authorization, "/users/ann/"), ["/users/ann/", ...[...all, ...given].sort()])
    assert.deepEqual(await names(authorization, "/sets/"), ["/sets/", "/sets/all/", "/sets/granted/"])
  }
  for (const path of ["/", "/users/", "/users/ann/", "/sets/"]) {
    const requests: Request[] = [
      ["DELETE", path],
      ["PROPPATCH", path, { body: patch }],
      ["MOVE", path, to("/users/bob/x")],
      ["COPY", path, to("/users/bob/x")],
      ["LOCK", path, { body: lockBody }],
    ]
    for (const request of requests) assert.equal((await dav(bob.authorization, ...request)).status, 403, `${request[0]} ${path}`)
    for (const request of [
      ["PUT", `${path}new.txt`, { body: "x" }],
      ["MKCOL", `${path}new`],
    ] as Request[]) {
      assert.ok([403, 404].includes((await dav(bob.authorization, ...request)).status), `${request[0]} ${path}`)
    }
  }
})

test("nobody, administrators included, can move or delete a home or a dataset's own directory", async () => {
  for (const who of ["ann", "boss"]) {
    for (const path of ["/users/ann/", "/users/ann/private/", "/users/ann/published/", "/sets/all/", "/users/", "/"]) {
      for (const request of [
        ["DELETE", path],
        ["MOVE", path, to(`/users/${who}/x`)],
      ] as Request[]) {
        const { status } = await dav(callers[who], ...request)
        assert.equal(status, 403, `${who} ${request[0]} ${path}`)
      }
    }
  }
})

test("nobody, administrators included, can reach the hidden directory", async () => {
  for (const [method] of Object.values(methods).map((how) =>
    how.ask({ file: "/.quayside/work", directory: "/.quayside", absent: "/.quayside/x", own: "/users/boss/o" }),
  )) {
    if (method === "COPY" || method === "MOVE") continue
    assert.equal((await dav(boss, method, "/.quayside/work")).status, 404, method)
  }
})

test("every method returns 401 with Basic in WWW-Authenticate without valid credentials", async () => {
  const revoked = await people.bob.client.createToken({ body: { Name: "gone" } })
  await people.bob.client.deleteToken({ query: { ID: revoked.ID } })
  await testServer.admin.createUser({ body: { UserName: "zoe", Password: "zoe-password" } })
  const zoe = await testServer.admin.readUser({ query: { UserName: "zoe" } })
  await testServer.admin.updateUser({ body: { ID: zoe.ID, IsDisabled: true } })
  const proofs = [
    undefined,
    basicAuth("ann", "wrong"),
    basicAuth("nobody-at-all", "x"),
    basicAuth("zoe", "zoe-password"),
    bearerAuth(revoked.Token),
    bearerAuth(`${forFiles.slice(7)}x`),
  ]
  for (const [i, proof] of proofs.entries()) {
    for (const method of i === 0 || i > 3
      ? Object.values(methods).map((how) => how.ask({ file: "/users/ann/f", directory: "/users/ann", absent: "/x", own: "/y" })[0])
      : ["GET", "PUT"]) {
      const answer = await dav(proof, method, "/users/ann/plain")
      assert.equal(answer.status, 401, `${method} ${proof}: ${answer.text}`)
      assert.match(String(answer.headers["www-authenticate"]), /^Basic /)
    }
  }
})

test("a token for files opens neither the API nor a run, and a session's cookie opens no file", async () => {
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { as: forFiles })).status, 401)
  const { headers } = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "ann", Password: people.ann.password } })
  const cookie = String(headers["set-cookie"]).split(";")[0] as string
  assert.equal((await dav(undefined, "GET", "/users/ann/plain", { headers: { cookie } })).status, 401)
})

test("a cross-site page changes no file, with any credentials", async () => {
  const elsewhere: Record<string, string>[] = [
    { origin: "http://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ]
  for (const how of Object.values(methods)) {
    if (how.reads) continue
    for (const headers of elsewhere) {
      const [method, path, more] = how.ask({ ...(await things("/users/ann/plain")), own: await ownFile("ann") })
      const answer = await dav(people.ann.authorization, method, path, { ...more, headers: { ...more?.headers, ...headers } })
      assert.equal(answer.status, 403, `${method} ${JSON.stringify(headers)}: ${answer.text}`)
    }
  }
})
