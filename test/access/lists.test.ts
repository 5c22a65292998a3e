import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type Endpoint, endpoints, type OperationId, operationIds } from "#contract"
import { type HttpAnswer, ids, sendRequest } from "../api/http-client.ts"
import { expectations, type Named, standings, type ThingType } from "./expectations.ts"
import { type PersonName, personNames, type Scenario, scenarios, startPopulatedServer } from "./populated-server.ts"

const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { baseUrl } = testServer.quayside

/**
 * One thing for every way of being: all that these lists could hold, beside what the stage itself
 * is made of.
 */
const made: { scenario: Scenario; thing: Named }[] = []
for (const scenario of scenarios) made.push({ scenario, thing: await scenario.make(server) })

function get(caller: PersonName, path: string, query: string): Promise<HttpAnswer> {
  const mark = query === "" ? "" : path.includes("?") ? "&" : "?"
  return sendRequest(baseUrl, "GET", path + mark + query, { as: people[caller].authorization })
}

/** One of each kind: grants that are equal here are made only once. */
const chosen = made.filter(({ scenario }) => scenario.askers === undefined)
/** Things of this type that are granted to somebody: grants are listed by them. */
const granted = (type: ThingType): string[] =>
  chosen.filter(({ scenario }) => scenario.type === type && scenario.says.includes("granted")).map(({ thing }) => String(thing.id))

/** Dataset lists stand at the path of the single read. */
const listings = operationIds.flatMap((operation): { operation: OperationId; type: ThingType; sees: readonly string[] }[] => {
  const expectation = expectations[operation]
  if (expectation?.is === "lists") return [{ operation, type: expectation.type, sees: expectation.live }]
  return operation === "listData" && expectation?.is === "on" ? [{ operation, type: "data", sees: expectation.live }] : []
})

/** The live objects of a type, of those made above, that this person may see by the table. */
function expected(caller: PersonName, type: ThingType, sees: readonly string[]): number[] {
  const columns: readonly string[] = standings[type]
  return made
    .filter(
      ({ scenario }) =>
        scenario.type === type &&
        !scenario.isDeleted &&
        sees[columns.indexOf(scenario.standing[caller] ?? scenario.others ?? "other")] === "ok",
    )
    .map(({ thing }) => thing.id)
    .sort((a, b) => a - b)
}

const known = new Set(made.map(({ scenario, thing }) => `${scenario.type} ${thing.id}`))
/** The objects of a response that were made above; people outside of the scenarios are left out. */
const found = (type: ThingType, answer: HttpAnswer) =>
  ids(answer)
    .filter((id) => known.has(`${type} ${id}`))
    .sort((a, b) => a - b)

for (const { operation, type, sees } of listings) {
  const { path, query }: Endpoint = endpoints[operation]
  const people = personNames.filter((name) => made.some(({ scenario }) => scenario.type === type && scenario.standing[name] !== undefined))

  test(`${operation} holds what each person may see of every kind, and nothing else`, async () => {
    for (const name of people) {
      const answer = await get(name, path, "pageSize=200")
      assert.deepEqual(found(type, answer), expected(name, type, sees), name)
    }
  })

  test(`${operation} counts only what each person may see, whatever is asked for`, async () => {
    const filters: Record<string, string[]> = {
      UserName: ["ann", "bob", "boss", "nobody"],
      IsPublish: ["0", "1"],
      q: ["i", "p", "d", "web", "zzz"],
      Name: ["i", "d", "web"],
      ProjectName: ["p"],
      GroupName: ["lab", "group-1"],
      Type: type === "project" ? ["http"] : ["dir"],
      State: ["ready", "ended", "queued"],
      Deleted: ["1"],
      ProjectID: chosen.flatMap(({ thing }) => (thing.projectId === undefined ? [] : [String(thing.projectId)])),
      ID: chosen.filter(({ scenario }) => scenario.type === type).map(({ thing }) => `${thing.id}&ID=999999`),
      ImageID: granted("image"),
      DataID: granted("data"),
      RunID: granted("run"),
      Access: ["read", "write"],
      sort: ["ID", "-ID", "CreatedAt", "-UpdatedAt", "Name", "-Name", "ProjectName"],
    }
    for (const name of people) {
      const asked = [
        "",
        ...Object.entries(filters).flatMap(([filter, values]) => (query[filter] ? values.map((value) => `${filter}=${value}`) : [])),
      ]
      for (const filter of asked) {
        const whole = await get(name, path, `${filter}&pageSize=200`)
        if (whole.status === 400 && filter.startsWith("sort=")) continue
        assert.equal(whole.status, 200, `${filter} ${whole.text}`)
        const one = await get(name, path, `${filter}&pageSize=1`)
        assert.equal(Number(one.body.pageCount), ids(whole).length, `${name} ${filter}: pageCount is the number of what is shown`)
        const past = await get(name, path, `${filter}&pageSize=1&page=${ids(whole).length + 1}`)
        assert.deepEqual([past.body.data, past.body.pageCount], [[], one.body.pageCount], `${name} ${filter}`)
      }
    }
  })

  if (query.Deleted) {
    test(`${operation} shows one's own bin, and everybody's to administrators`, async () => {
      for (const name of people) {
        const bin = made.filter(({ scenario }) => scenario.type === type && scenario.isDeleted)
        const mine = bin.filter(({ scenario }) => scenario.standing[name] === "owner" || name === "boss").map(({ thing }) => thing.id)
        assert.deepEqual(
          found(type, await get(name, path, "Deleted=1&pageSize=200")),
          mine.sort((a, b) => a - b),
          name,
        )
      }
    })
  }
}

/** Paths of single reads, their lists with all live or ended objects, and fields to read by. */
const singles = [
  { single: "/image", lists: ["/images"], fields: ["Name=i", "Image=fake/http", "UserName=ann", "UserName=boss"] },
  { single: "/project", lists: ["/projects"], fields: ["ProjectName=p", "GroupName=lab", "UserName=bob"] },
  {
    single: "/running_project",
    lists: ["/running_projects", "/running_projects?State=ended"],
    fields: ["State=ready", "State=ended", "UserName=mia"],
  },
] as const

test("a single read by fields matches only visible objects and does not count them", async () => {
  for (const name of personNames) {
    for (const { single, lists, fields } of singles) {
      const answers = await Promise.all(lists.map((list) => get(name, list, "pageSize=200")))
      const seen = answers.flatMap(({ body }) => body.data as unknown as Record<string, unknown>[])
      for (const field of fields) {
        const [word = "", value] = field.split("=")
        const count = seen.filter((each) => each[word] === value).length
        const answer = await get(name, single, field)
        assert.equal(
          answer.status,
          [404, 200][count] ?? 409,
          `${name} ${single}?${field}: ${count} are seen, got ${answer.text.slice(0, 300)}`,
        )
        if (count > 1) assert.doesNotMatch(String(answer.body.msg), /\d/)
      }
    }
  }
})
