import assert from "node:assert/strict"
import { after, test } from "node:test"
import { bearerAuth, createClient, type ServerEvent } from "#client"
import { recordEvents } from "../api/event-recorder.ts"
import { eventScenarios, isolatedEventScenarios } from "./event-scenarios.ts"
import type { EventScenario, ExpectedEvent, Step } from "./event-steps.ts"
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
const { ID: fetching } = await people.ann.client.createProject({ body: { ProjectName: "n", Type: "http", ImageID: server.imageId } })
await people.ann.client.startRun({ body: { ProjectID: fetching } })
// A run that can write to a home keeps the datasets in it from being transferred.
await people.ann.client.stopRun({ query: { ProjectID: fetching } })
for (const name of ["ann", "boss"]) await readers.get(name)?.until(`project.created ${fetching}`)

/** The event's name in the scenarios; its other data are visible to everybody. */
function spoken({ event, data }: ServerEvent): string {
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
async function settled(): Promise<Map<string, Map<string, string[]>>> {
  const { ID } = await people.ann.client.createImage({ body: { Name: "mark", Image: "fake/http", IsPublished: true } })
  const told = [...readers].map(async ([name, reader]) => {
    const events = await reader.through(`image.created ${ID}`)
    const of = new Map<string, string[]>()
    for (const event of events) {
      const about = `${event.event.split(".")[0]} ${event.data.ID}`
      const before = of.get(about) ?? []
      // The number of progress events depends on the time that a start takes.
      if (event.event === "run.progress" && before.includes(spoken(event))) continue
      of.set(about, [...before, spoken(event)])
    }
    return [name, of] as const
  })
  return new Map(await Promise.all(told))
}

interface Told {
  story: EventScenario
  things: ExpectedEvent[]
  wrong: string[]
}

/** Received events that no scenario expects. */
const strays: string[] = []

function compare({ tells, says }: Step, tale: Told, told: Map<string, Map<string, string[]>>): void {
  for (const [reader, of] of told) {
    const [name = ""] = reader.split(",")
    const wanted = Object.entries(tells).flatMap(([event, who]) => (who.split(" ").includes(name) ? [event] : []))
    const got = tale.things.flatMap(({ type, id }) => of.get(`${type} ${id}`) ?? [])
    for (const { type, id } of tale.things) of.delete(`${type} ${id}`)
    if (wanted.sort().join() !== got.sort().join())
      tale.wrong.push(`${says}: ${reader} is told [${got.sort()}], wanted is [${wanted.sort()}]`)
  }
}

await settled()
/**
 * Runs all scenarios at the same time, step by step. Between two steps everybody receives all
 * events of the first.
 */
async function runScenarios(scenarios: readonly EventScenario[]): Promise<Told[]> {
  const tales = scenarios.map((story): Told => ({ story, things: [], wrong: [] }))
  const most = Math.max(...scenarios.map(({ steps }) => steps.length))
  for (let i = 0; i < most; i += 1) {
    const under = tales.filter(({ story }) => story.steps[i])
    await Promise.all(
      under.map(async ({ story, things }) => {
        const made = await (story.steps[i] as Step).does(server, things)
        if (made) things.push(made)
      }),
    )
    const told = await settled()
    for (const tale of under) compare(tale.story.steps[i] as Step, tale, told)
    for (const [name, of] of told) for (const [about, events] of of) strays.push(`${name} is told ${events} of ${about}`)
  }
  return tales
}

const told = await runScenarios(eventScenarios)
for (const story of isolatedEventScenarios) told.push(...(await runScenarios([story])))

for (const { story, wrong } of told) {
  test(`of ${story.says} everybody is told what they may see, and nothing else`, () => assert.deepEqual(wrong, []))
}

test("nobody receives an event that no scenario expects", () => assert.deepEqual(strays, []))
