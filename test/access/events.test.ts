import assert from "node:assert/strict"
import { after, test } from "node:test"
import { bearerAuth, createClient, type ServerEvent } from "#client"
import { recordEvents } from "../api/event-recorder.ts"
import { eventScenarios, isolatedEventScenarios } from "./event-scenarios.ts"
import type { EventObject, EventScenario, Step } from "./event-steps.ts"
import { personNames, startPopulatedServer } from "./populated-server.ts"

const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { baseUrl } = testServer.quayside

/** All people, and some with other credentials, whose streams must be equal. */
const readers = new Map<string, Awaited<ReturnType<typeof recordEvents>>>()
for (const name of personNames) readers.set(name, await recordEvents(people[name].client))
const una = await testServer.person("una")
await testServer.acquaint(una, people.bob)
readers.set("una", await recordEvents(una.client))
for (const name of ["ann", "boss"] as const) {
  const { Token } = await people[name].client.createToken({ body: { Name: "reads", Scopes: ["read"] } })
  readers.set(`${name}, who only reads`, await recordEvents(createClient({ baseUrl, authorization: bearerAuth(Token) })))
}
after(() => Promise.all([...readers.values()].map((each) => each[Symbol.asyncDispose]())))

/** Only the run of the scenario about that has to pull its image. */
const { ID: projectToPull } = await people.ann.client.createProject({ body: { ProjectName: "n", Type: "http", ImageID: server.imageId } })
await people.ann.client.startRun({ body: { ProjectID: projectToPull } })
// A run that can write to a home keeps the datasets in it from being transferred.
await people.ann.client.stopRun({ query: { ProjectID: projectToPull } })
for (const name of ["ann", "boss"]) await readers.get(name)?.until(`project.created ${projectToPull}`)

/** The event's name in the scenarios; its other data are visible to everybody. */
function describeEvent({ event, data }: ServerEvent): string {
  const { ID: _own, ProjectID, State, Reason, ...more } = data as ServerEvent["data"] & { Reason?: { code: string; msg: string } | null }
  const [type, verb] = event.split(".")
  const isOfRun = type === "run" && verb !== "updated" && verb !== "deleted"
  assert.equal(typeof ProjectID, isOfRun ? "number" : "undefined", `${event} ${JSON.stringify(data)}`)
  assert.deepEqual(Reason ? Object.keys(Reason).sort() : [], Reason ? ["code", "msg"] : [])
  assert.equal(Reason === undefined, verb !== "state")
  const parts = [event, State, Reason && `because ${Reason.code}`, ...Object.keys(more)]
  return parts.filter((part) => part !== undefined && part !== null).join(" ")
}

/** Waits until everybody has received all events so far; returns them by person and object. */
async function collectEvents(): Promise<Map<string, Map<string, string[]>>> {
  const { ID } = await people.ann.client.createImage({ body: { Name: "mark", Image: "fake/http", IsPublished: true } })
  const received = [...readers].map(async ([name, reader]) => {
    const events = await reader.through(`image.created ${ID}`)
    const byObject = new Map<string, string[]>()
    for (const event of events) {
      const object = `${event.event.split(".")[0]} ${event.data.ID}`
      const before = byObject.get(object) ?? []
      // The number of progress events depends on the time that a start takes.
      if (event.event === "run.progress" && before.includes(describeEvent(event))) continue
      byObject.set(object, [...before, describeEvent(event)])
    }
    return [name, byObject] as const
  })
  return new Map(await Promise.all(received))
}

interface ScenarioResult {
  scenario: EventScenario
  objects: EventObject[]
  mismatches: string[]
}

/** Received events that no scenario expects. */
const unexpected: string[] = []

function compare({ receivers, title }: Step, result: ScenarioResult, received: Map<string, Map<string, string[]>>): void {
  for (const [reader, byObject] of received) {
    const [name = ""] = reader.split(",")
    const expected = Object.entries(receivers).flatMap(([event, who]) => (who.split(" ").includes(name) ? [event] : []))
    const actual = result.objects.flatMap(({ type, id }) => byObject.get(`${type} ${id}`) ?? [])
    for (const { type, id } of result.objects) byObject.delete(`${type} ${id}`)
    if (expected.sort().join() !== actual.sort().join())
      result.mismatches.push(`${title}: ${reader} received [${actual.sort()}], expected [${expected.sort()}]`)
  }
}

await collectEvents()
/**
 * Runs all scenarios at the same time, step by step. Between two steps everybody receives all
 * events of the first.
 */
async function runScenarios(scenarios: readonly EventScenario[]): Promise<ScenarioResult[]> {
  const results = scenarios.map((scenario): ScenarioResult => ({ scenario, objects: [], mismatches: [] }))
  const stepCount = Math.max(...scenarios.map(({ steps }) => steps.length))
  for (let i = 0; i < stepCount; i += 1) {
    const active = results.filter(({ scenario }) => scenario.steps[i])
    await Promise.all(
      active.map(async ({ scenario, objects }) => {
        const created = await (scenario.steps[i] as Step).perform(server, objects)
        if (created) objects.push(created)
      }),
    )
    const received = await collectEvents()
    for (const result of active) compare(result.scenario.steps[i] as Step, result, received)
    for (const [name, byObject] of received)
      for (const [object, events] of byObject) unexpected.push(`${name} received ${events} of ${object}`)
  }
  return results
}

const received = await runScenarios(eventScenarios)
for (const scenario of isolatedEventScenarios) received.push(...(await runScenarios([scenario])))

for (const { scenario, mismatches } of received) {
  test(`events of ${scenario.title} reach exactly the people who may see them`, () => assert.deepEqual(mismatches, []))
}

test("nobody receives an event that no scenario expects", () => assert.deepEqual(unexpected, []))
