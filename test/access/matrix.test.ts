import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type Operation, operations } from "#contract"
import { ask } from "../api/asking.ts"
import { type Cell, type Expectation, expectations, type Named, standings } from "./expectations.ts"
import { each, nobodys, requestFor, told } from "./requests.ts"
import { type CastName, openStage, type Scenario, scenarios } from "./stage.ts"

const stage = await openStage()
after(() => stage[Symbol.asyncDispose]())
const { world, people } = stage

interface Case {
  operation: Operation
  scenario: Scenario
  caller: CastName
  cell: Cell
}

const statusOf: Record<Cell, number> = { ok: 200, no: 403, cf: 409, "--": 404, xx: 403 }
let asked = 0

/** Every other request goes by the alias, which changes nothing. */
function answerTo(operation: Operation, caller: CastName, thing: Named) {
  const { method, path, body } = requestFor(operation, thing)
  asked += 1
  return ask(world.quayside.baseUrl, method, asked % 2 === 0 ? path : `/admin${path}`, { as: people[caller].authorization, body })
}

/** What is wrong with one case; empty when nothing is. */
async function check({ operation, scenario, caller, cell }: Case): Promise<string[]> {
  const thing = await scenario.make(stage)
  const answer = await answerTo(operation, caller, thing)
  const where = `${caller} (${scenario.standing[caller]}) on ${scenario.type} ${scenario.says}`
  if (answer.status !== statusOf[cell]) return [`${where}: ${cell} is expected, got ${answer.status} ${answer.text.slice(0, 300)}`]
  if (cell !== "--" && cell !== "xx") return []
  const missing = told(await answerTo(operation, caller, nobodys), nobodys)
  return told(answer, thing) === missing ? [] : [`${where}: ${told(answer, thing)} tells it from what never was: ${missing}`]
}

function casesOf(operation: Operation, expectation: Expectation & { is: "on" }): Case[] {
  const columns: readonly string[] = standings[expectation.type]
  return scenarios
    .filter((scenario) => scenario.type === expectation.type)
    .flatMap((scenario) =>
      (Object.entries(scenario.standing) as [CastName, string][]).map(([caller, standing]) => {
        const cells = scenario.isDeleted ? expectation.deleted : expectation.live
        return { operation, scenario, caller, cell: cells[columns.indexOf(standing)] as Cell }
      }),
    )
}

for (const operation of operations) {
  const expectation = expectations[operation]
  if (expectation?.is !== "on") continue
  test(`${operation} answers everybody by what they are to the ${expectation.type}`, async () => {
    const wrong: string[] = []
    await each(casesOf(operation, expectation), async (one) => void wrong.push(...(await check(one))))
    assert.deepEqual(wrong, [])
  })
}
