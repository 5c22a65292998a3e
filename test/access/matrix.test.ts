import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { sendRequest } from "../api/http-client.ts"
import { type Cell, type Expectation, expectations, type ResourceRef, relationsByType } from "./expectations.ts"
import { type PersonName, personNames, resourceCache, type Scenario, scenarios, startPopulatedServer } from "./populated-server.ts"
import { expectationOf, forEachConcurrently, isWrite, missingResource, requestFor, summarize } from "./requests.ts"

const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { baseUrl } = testServer.quayside
const sharedResource = resourceCache(server)

interface Case {
  row: string
  scenario: Scenario
  caller: PersonName
  cell: Cell
}

/** A request's credentials. */
type Credential = Readonly<Record<string, string>>

/** All credentials with a person's full rights: they must be equivalent. */
async function credentialsOf(caller: PersonName): Promise<Credential[]> {
  const { authorization, password } = people[caller]
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: caller, Password: password } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";", 1)[0] as string
  return [
    { authorization },
    { authorization: basicAuth(caller, password) },
    { authorization: basicAuth(caller, authorization.slice("Bearer ".length)) },
    { cookie, "sec-fetch-site": "same-origin" },
  ]
}
const limited = async (caller: PersonName, scopes: string[]): Promise<Credential> => ({
  authorization: bearerAuth((await people[caller].client.createToken({ body: { Name: "t", Scopes: scopes } })).Token),
})
async function forEverybody<T>(of: (caller: PersonName) => Promise<T>): Promise<Record<PersonName, T>> {
  const entries = await Promise.all(personNames.map(async (caller) => [caller, await of(caller)] as const))
  return Object.fromEntries(entries) as Record<PersonName, T>
}
const credentials = await forEverybody(credentialsOf)
const readOnly = await forEverybody((caller) => limited(caller, ["read"]))
const forRun = await forEverybody((caller) => limited(caller, ["run:1"]))

const statusOf: Record<Cell, number> = { ok: 200, no: 403, cf: 409, "--": 404, xx: 403 }
let requestCount = 0

/** Every other request uses the alias, with the same result. */
function send(row: string, credential: Credential, resource: ResourceRef) {
  const { method, path, body } = requestFor(row, resource)
  requestCount += 1
  return sendRequest(baseUrl, method, requestCount % 2 === 0 ? path : `/admin${path}`, { headers: { ...credential }, body })
}

const missingSummaries = new Map<string, Promise<string>>()
/** The response for an object that never existed. */
function summaryOfMissing(row: string, kind: string, credential: Credential): Promise<string> {
  const key = `${row} ${kind}`
  const summary = missingSummaries.get(key) ?? send(row, credential, missingResource).then((answer) => summarize(answer, missingResource))
  missingSummaries.set(key, summary)
  return summary
}

/** The fault of a response; empty if there is none. */
async function check({ row, scenario, caller, cell }: Case, credential: Credential, kind: string): Promise<string[]> {
  // Rejected requests and reads change nothing, so they share an object.
  const changesResource = cell === "ok" && isWrite(row)
  const resource = await (changesResource ? scenario.createResource(server) : sharedResource(scenario))
  const answer = await send(row, credential, resource)
  const where = `${caller} (${scenario.relations[caller]}, ${kind}) on ${scenario.type} ${scenario.title}`
  if (answer.status !== statusOf[cell]) return [`${where}: ${cell} is expected, got ${answer.status} ${answer.text.slice(0, 300)}`]
  if (cell !== "--" && cell !== "xx") return []
  const missing = await summaryOfMissing(row, `${caller} ${kind}`, credential)
  return summarize(answer, resource) === missing ? [] : [`${where}: ${summarize(answer, resource)} differs from a missing one: ${missing}`]
}

function casesOf(row: string, expectation: Expectation & { is: "on" }): Case[] {
  const columns: readonly string[] = relationsByType[expectation.type]
  return scenarios
    .filter((scenario) => scenario.type === expectation.type)
    .flatMap((scenario) =>
      (scenario.callers ?? (Object.keys(scenario.relations) as PersonName[])).map((caller) => {
        const cells = scenario.isDeleted ? expectation.deleted : expectation.live
        return { row, scenario, caller, cell: cells[columns.indexOf(scenario.relations[caller] ?? "")] as Cell }
      }),
    )
}

test("every column of the table has a person, for live and for deleted objects", () => {
  const missing: string[] = []
  for (const [type, columns] of Object.entries(relationsByType)) {
    for (const column of columns) {
      for (const isDeleted of [undefined, true] as const) {
        const found = scenarios.some(
          (one) => one.type === type && one.isDeleted === isDeleted && Object.values(one.relations).includes(column),
        )
        if (!found) missing.push(`${column} of a ${isDeleted ? "deleted" : "live"} ${type}`)
      }
    }
  }
  // Deleted people have no credentials.
  assert.deepEqual(missing, ["self of a deleted user"])
})

for (const row of Object.keys(expectations)) {
  const expectation = expectationOf(row)
  if (expectation.is !== "on") continue
  test(`${row} follows the caller's relation to the ${expectation.type}, with every credential`, async () => {
    const mismatches: string[] = []
    const cases = casesOf(row, expectation)
    await forEachConcurrently([...cases.entries()], async ([n, one]) => {
      const own = credentials[one.caller]
      mismatches.push(...(await check(one, own[n % own.length] as Credential, "everything")))
    })
    await forEachConcurrently(cases, async (one) => {
      const cell = isWrite(row) ? "xx" : one.cell
      mismatches.push(...(await check({ ...one, cell }, readOnly[one.caller], "a token that reads")))
      mismatches.push(...(await check({ ...one, cell: "xx" }, forRun[one.caller], "a token for a run")))
    })
    assert.deepEqual(mismatches, [])
  })
}
