import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { bounds } from "#contract"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { createGrant, deleteGrant } from "./grants.ts"
import { type PersonName, startPopulatedServer } from "./populated-server.ts"
import { forEachConcurrently } from "./requests.ts"

/**
 * The access that a person has at a path by the specification. `traverse`: a directory above
 * visible ones. `none`: hidden, 404 for every method.
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
    headers: { ...(more.body === undefined ? {} : { "content-type": "text/plain" }), ...more.headers },
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
const directories: Record<string, { path: string; levels: Partial<Record<Caller, Level>> }> = {
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
  "a dataset whose grants were revoked": { path: "/users/ann/taken-back", levels: { ...none, gwensReading: "none" } },
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
  "a directory outside of homes and datasets": { path: "/attic", levels: { ann: "none", bob: "none", forFiles: "none", boss: "write" } },
  "a directory whose name begins with a published dataset's": {
    path: "/users/ann/published2",
    levels: { ann: "write", bob: "none", boss: "write" },
  },
}
interface Dataset {
  published?: true
  deleted?: true
  grant?: Omit<Parameters<typeof createGrant>[3], "by">
  revoked?: true
}
const datasets: Record<string, Dataset> = {
  "/users/ann/granted": { grant: {} },
  "/users/ann/for-groups": { grant: { to: "groups" } },
  "/users/ann/for-an-hour": { grant: { until: "later" } },
  "/users/ann/until-now": { grant: { until: "over" } },
  "/users/ann/groups-until-now": { grant: { to: "groups", until: "over" } },
  "/users/ann/taken-back": { grant: {}, revoked: true },
  "/users/ann/granted-gone": { grant: {}, deleted: true },
  "/users/ann/both": { grant: {}, published: true },
  "/sets/granted": { grant: {} },
  "/users/ann/private": {},
  "/users/ann/published": { published: true },
  "/users/ann/gone": { published: true, deleted: true },
  "/sets/theirs": {},
  "/sets/all": { published: true },
}
for (const [AccessInfo, { published, deleted, grant, revoked }] of Object.entries(datasets)) {
  const fields = { Name: AccessInfo, AccessInfo, UserName: "ann", IsPublished: published === true }
  const { ID } = await testServer.admin.createData({ body: fields })
  if (grant) await createGrant(server, "data", { id: ID }, { by: "ann", ...grant })
  if (revoked) await deleteGrant(server, "data", { id: ID }, "ann")
  if (deleted) await testServer.admin.deleteData({ query: { ID } })
}
for (const { path } of Object.values(directories)) await dav(boss, "MKCOL", path)

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
const isReadOnly = (caller: string) => caller === "readOnly" || caller === "gwensReading"
const isRunToken = (caller: string) => caller === "forRun" || caller === "gwensForRun"
let count = 0

/** A new file and a new directory at that path, made by the administrator. */
async function createEntries(path: string): Promise<{ file: string; directory: string; absent: string }> {
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
function cached<T>(name: string, make: () => Promise<T>): Promise<T> {
  const created = (files.get(name) as Promise<T> | undefined) ?? make()
  files.set(name, created)
  return created
}

const lockBody = `<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`
const patch = `<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="urn:x">1</x></D:prop></D:set></D:propertyupdate>`
type Request = [method: string, path: string, more?: { body?: string; headers?: Record<string, string> }]
const tus = { "tus-resumable": "1.0.0" }
const to = (path: string) => ({ headers: { destination: filesUrl + path } })

/** Each method with its status for a writer, and whether `read` suffices. */
const methods: Record<
  string,
  {
    request: (at: { file: string; directory: string; absent: string; own: string }) => Request
    writerStatus: number
    readSuffices?: true
    ownOnly?: true
    /** At most so many requests at once, if one person may not have more. */
    atOnce?: number
  }
> = {
  OPTIONS: { request: ({ file }) => ["OPTIONS", file], writerStatus: 200, readSuffices: true },
  GET: { request: ({ file }) => ["GET", file], writerStatus: 200, readSuffices: true },
  HEAD: { request: ({ file }) => ["HEAD", file], writerStatus: 200, readSuffices: true },
  "GET of a directory": { request: ({ directory }) => ["GET", directory], writerStatus: 405, readSuffices: true },
  "PROPFIND of a file": { request: ({ file }) => ["PROPFIND", file, { headers: { depth: "0" } }], writerStatus: 207, readSuffices: true },
  "PROPFIND of a directory": {
    request: ({ directory }) => ["PROPFIND", directory, { headers: { depth: "1" } }],
    writerStatus: 207,
    readSuffices: true,
  },
  "GET of a list": { request: ({ directory }) => ["GET", `${directory}?list=json`], writerStatus: 200, readSuffices: true },
  "GET of an archive": {
    request: ({ directory }) => ["GET", `${directory}?archive=zip`],
    writerStatus: 200,
    readSuffices: true,
    atOnce: bounds.files.deepListingsAtOnce.value,
  },
  "POST of an upload": { request: ({ absent }) => ["POST", absent, { headers: { ...tus, "upload-length": "5" } }], writerStatus: 201 },
  "PATCH of no upload": {
    request: ({ file }) => [
      "PATCH",
      `${file}?upload=${"0".repeat(32)}`,
      { body: "x", headers: { ...tus, "upload-offset": "0", "content-type": "application/offset+octet-stream" } },
    ],
    writerStatus: 404,
  },
  "PUT over a file": { request: ({ file }) => ["PUT", file, { body: "new" }], writerStatus: 204 },
  "PUT of a new file": { request: ({ absent }) => ["PUT", absent, { body: "new" }], writerStatus: 201 },
  "PUT with a stale tag": { request: ({ file }) => ["PUT", file, { body: "new", headers: { "if-match": '"stale"' } }], writerStatus: 412 },
  "PUT below what is absent": { request: ({ absent }) => ["PUT", `${absent}/x`, { body: "new" }], writerStatus: 409 },
  MKCOL: { request: ({ absent }) => ["MKCOL", absent], writerStatus: 201 },
  "MKCOL over a directory": { request: ({ directory }) => ["MKCOL", directory], writerStatus: 405 },
  "DELETE of a file": { request: ({ file }) => ["DELETE", file], writerStatus: 204 },
  "DELETE of a directory": { request: ({ directory }) => ["DELETE", directory], writerStatus: 204 },
  PROPPATCH: {
    request: ({ file }) => ["PROPPATCH", file, { body: patch, headers: { "content-type": "application/xml" } }],
    writerStatus: 207,
  },
  "COPY in": { request: ({ own, absent }) => ["COPY", own, to(absent)], writerStatus: 201 },
  "MOVE in": { request: ({ own, absent }) => ["MOVE", own, to(absent)], writerStatus: 201 },
  "COPY out": { request: ({ file, own }) => ["COPY", file, to(`${own}.copy`)], writerStatus: 201, readSuffices: true, ownOnly: true },
  "MOVE out": { request: ({ file, own }) => ["MOVE", file, to(`${own}.moved`)], writerStatus: 201, ownOnly: true },
  LOCK: { request: ({ file }) => ["LOCK", file, { body: lockBody, headers: { "content-type": "application/xml" } }], writerStatus: 200 },
  "LOCK of a new file": {
    request: ({ absent }) => ["LOCK", absent, { body: lockBody, headers: { "content-type": "application/xml" } }],
    writerStatus: 201,
  },
  UNLOCK: {
    request: ({ file }) => ["UNLOCK", file, { headers: { "lock-token": "<urn:uuid:00000000-0000-0000-0000-000000000000>" } }],
    writerStatus: 409,
  },
}

function expected(level: Level, caller: string, { writerStatus, readSuffices, ownOnly }: (typeof methods)[string]): number {
  if (isRunToken(caller)) return 403
  // A read-only credential writes nowhere, its own home included. The refusal precedes every
  // lookup.
  if (isReadOnly(caller) && (!readSuffices || ownOnly)) return 403
  if (level === "none") return 404
  return readSuffices || level === "write" ? writerStatus : 403
}

for (const [method, spec] of Object.entries(methods)) {
  test(`${method} follows the caller's access to the path, and is 404 for hidden entries`, async () => {
    const cases = Object.entries(directories).flatMap(([title, { path, levels }]) =>
      Object.entries(levels).map(([caller, level]) => ({ says: title, path, caller, level })),
    )
    const mismatches: string[] = []
    await forEachConcurrently(
      cases,
      async ({ says: title, path, caller, level }) => {
        const status = expected(level, caller, spec)
        // Rejected requests and reads change nothing, so they share files.
        const isShared = status >= 300 || (spec.readSuffices === true && !spec.ownOnly)
        const make = isShared ? cached : <T>(_name: string, created: () => Promise<T>) => created()
        const at = { ...(await make(path, () => createEntries(path))), own: await make(caller, () => ownFile(caller)) }
        const answer = await dav(callers[caller], ...spec.request(at))
        if (answer.status !== status)
          mismatches.push(`${caller} at ${title} (${level}): ${status} is expected, got ${answer.status} ${answer.text.slice(0, 200)}`)
        if (level === "none") {
          const missingPaths = { file: "/users/never/f.txt", directory: "/users/never/d", absent: "/users/never/a.txt", own: at.own }
          const missing = await dav(callers[caller], ...spec.request(missingPaths))
          const summary = ({ status: code, body }: HttpAnswer) => `${code} ${body.msg} ${body.code}`
          if (summary(answer) !== summary(missing))
            mismatches.push(`${caller} at ${title}: ${summary(answer)}, for a missing path ${summary(missing)}`)
        }
      },
      spec.atOnce,
    )
    assert.deepEqual(mismatches, [])
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
  const grant = ["/users/ann/for-an-hour/", "/users/ann/for-groups/", "/users/ann/granted/"]
  for (const { authorization } of [people.gwen, people.guy, people.gil]) {
    assert.deepEqual(await names(authorization, "/users/ann/"), ["/users/ann/", ...[...all, ...grant].sort()])
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
  for (const [method] of Object.values(methods).map((spec) =>
    spec.request({ file: "/.quayside/work", directory: "/.quayside", absent: "/.quayside/x", own: "/users/boss/o" }),
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
  const credentials = [
    undefined,
    basicAuth("ann", "wrong"),
    basicAuth("nobody-at-all", "x"),
    basicAuth("zoe", "zoe-password"),
    bearerAuth(revoked.Token),
    bearerAuth(`${forFiles.slice(7)}x`),
  ]
  for (const [i, credential] of credentials.entries()) {
    for (const method of i === 0 || i > 3
      ? Object.values(methods).map((spec) => spec.request({ file: "/users/ann/f", directory: "/users/ann", absent: "/x", own: "/y" })[0])
      : ["GET", "PUT"]) {
      const answer = await dav(credential, method, "/users/ann/plain")
      assert.equal(answer.status, 401, `${method} ${credential}: ${answer.text}`)
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
  const crossSiteHeaders: Record<string, string>[] = [
    { origin: "http://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ]
  for (const spec of Object.values(methods)) {
    if (spec.readSuffices) continue
    for (const headers of crossSiteHeaders) {
      const [method, path, more] = spec.request({ ...(await createEntries("/users/ann/plain")), own: await ownFile("ann") })
      const answer = await dav(people.ann.authorization, method, path, { ...more, headers: { ...more?.headers, ...headers } })
      assert.equal(answer.status, 403, `${method} ${JSON.stringify(headers)}: ${answer.text}`)
    }
  }
})
