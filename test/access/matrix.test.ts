import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { sendRequest } from "../api/http-client.ts"
import { type Cell, type Expectation, expectations, type Named, standings } from "./expectations.ts"
import { type PersonName, personNames, resourceCache, type Scenario, scenarios, startPopulatedServer } from "./populated-server.ts"
import { expectationOf, forEachConcurrently, isWrite, missingResource, requestFor, summarize } from "./requests.ts"

const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { baseUrl } = testServer.quayside
const kept = resourceCache(server)

interface Case {
  row: string
  scenario: Scenario
  caller: PersonName
  cell: Cell
}

/** A request's credentials. */
type Proof = Readonly<Record<string, string>>

/** All credentials with a person's full rights: they must be equivalent. */
async function proofsOf(caller: PersonName): Promise<Proof[]> {
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
const limited = async (caller: PersonName, scopes: string[]): Promise<Proof> => ({
  authorization: bearerAuth((await people[caller].client.createToken({ body: { Name: "t", Scopes: scopes } })).Token),
})
async function forEverybody<T>(of: (caller: PersonName) => Promise<T>): Promise<Record<PersonName, T>> {
  const made = await Promise.all(personNames.map(async (caller) => [caller, await of(caller)] as const))
  return Object.fromEntries(made) as Record<PersonName, T>
}
const proofs = await forEverybody(proofsOf)
const readOnly = await forEverybody((caller) => limited(caller, ["read"]))
const forRun = await forEverybody((caller) => limited(caller, ["run:1"]))

const statusOf: Record<Cell, number> = { ok: 200, no: 403, cf: 409, "--": 404, xx: 403 }
let asked = 0

/** Every other request uses the alias, with the same result. */
function answerTo(row: string, proof: Proof, thing: Named) {
  const { method, path, body } = requestFor(row, thing)
  asked += 1
  return sendRequest(baseUrl, method, asked % 2 === 0 ? path : `/admin${path}`, { headers: { ...proof }, body })
}

const never = new Map<string, Promise<string>>()
/** The response for an object that never existed. */
function toldOfNone(row: string, kind: string, proof: Proof): Promise<string> {
  const key = `${row} ${kind}`
  const known = never.get(key) ?? answerTo(row, proof, missingResource).then((answer) => summarize(answer, missingResource))
  never.set(key, known)
  return known
}

/** The fault of a response; empty if there is none. */
async function check({ row, scenario, caller, cell }: Case, proof: Proof, kind: string): Promise<string[]> {
  // Rejected requests and reads change nothing, so they share an object.
  const changes = cell === "ok" && isWrite(row)
  const thing = await (changes ? scenario.make(server) : kept(scenario))
  const answer = await answerTo(row, proof, thing)
  const where = `${caller} (${scenario.standing[caller]}, ${kind}) on ${scenario.type} ${scenario.says}`
  if (answer.status !== statusOf[cell]) return [`${where}: ${cell} is expected, got ${answer.status} ${answer.text.slice(0, 300)}`]
  if (cell !== "--" && cell !== "xx") return []
  const none = await toldOfNone(row, `${caller} ${kind}`, proof)
  return summarize(answer, thing) === none ? [] : [`${where}: ${summarize(answer, thing)} tells it from what never was: ${none}`]
}

function casesOf(row: string, expectation: Expectation & { is: "on" }): Case[] {
  const columns: readonly string[] = standings[expectation.type]
  return scenarios
    .filter((scenario) => scenario.type === expectation.type)
    .flatMap((scenario) =>
      (scenario.askers ?? (Object.keys(scenario.standing) as PersonName[])).map((caller) => {
        const cells = scenario.isDeleted ? expectation.deleted : expectation.live
        return { row, scenario, caller, cell: cells[columns.indexOf(scenario.standing[caller] ?? "")] as Cell }
      }),
    )
}

test("every column of the table has a person, for live and for deleted objects", () => {
  const missing: string[] = []
  for (const [type, columns] of Object.entries(standings)) {
    for (const column of columns) {
      for (const isDeleted of [undefined, true] as const) {
        const found = scenarios.some(
          (one) => one.type === type && one.isDeleted === isDeleted && Object.values(one.standing).includes(column),
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
  test(`${row} answers everybody by what they are to the ${expectation.type}, by whatever they prove it`, async () => {
    const wrong: string[] = []
    const cases = casesOf(row, expectation)
    await forEachConcurrently([...cases.entries()], async ([n, one]) => {
      const own = proofs[one.caller]
      wrong.push(...(await check(one, own[n % own.length] as Proof, "everything")))
    })
    await forEachConcurrently(cases, async (one) => {
      const cell = isWrite(row) ? "xx" : one.cell
      wrong.push(...(await check({ ...one, cell }, readOnly[one.caller], "a token that reads")))
      wrong.push(...(await check({ ...one, cell: "xx" }, forRun[one.caller], "a token for a run")))
    })
    assert.deepEqual(wrong, [])
  })
}
