import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type Endpoint, endpoints, type OperationId, operationIds } from "#contract"
import { type HttpAnswer, ids, sendRequest } from "../api/http-client.ts"
import { expectations, type ResourceRef, type ResourceType, relationsByType } from "./expectations.ts"
import { type PersonName, personNames, type Scenario, scenarios, startPopulatedServer } from "./populated-server.ts"

const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { server: testServer, people } = server
const { baseUrl } = testServer.quayside

/** The resources of all scenarios. The lists also contain those of the populated server itself. */
const resources: { scenario: Scenario; resource: ResourceRef }[] = []
for (const scenario of scenarios) resources.push({ scenario, resource: await scenario.createResource(server) })

function get(caller: PersonName, path: string, query: string): Promise<HttpAnswer> {
  const separator = query === "" ? "" : path.includes("?") ? "&" : "?"
  return sendRequest(baseUrl, "GET", path + separator + query, { as: people[caller].authorization })
}

/** One of each kind: grants that are equal here are made only once. */
const chosen = resources.filter(({ scenario }) => scenario.callers === undefined)
/** The granted resources of this type, by which grants are listed. */
const granted = (type: ResourceType): string[] =>
  chosen.filter(({ scenario }) => scenario.type === type && scenario.title.includes("granted")).map(({ resource }) => String(resource.id))

/** Dataset lists stand at the path of the single read. */
const listings = operationIds.flatMap((operation): { operation: OperationId; type: ResourceType; visibleCells: readonly string[] }[] => {
  const expectation = expectations[operation]
  if (expectation?.is === "lists") return [{ operation, type: expectation.type, visibleCells: expectation.live }]
  return operation === "listData" && expectation?.is === "on" ? [{ operation, type: "data", visibleCells: expectation.live }] : []
})

/** The live objects of a type, of those made above, that this person may see by the table. */
function expected(caller: PersonName, type: ResourceType, visibleCells: readonly string[]): number[] {
  const columns: readonly string[] = relationsByType[type]
  return resources
    .filter(
      ({ scenario }) =>
        scenario.type === type &&
        !scenario.isDeleted &&
        visibleCells[columns.indexOf(scenario.relations[caller] ?? scenario.others ?? "other")] === "ok",
    )
    .map(({ resource }) => resource.id)
    .sort((a, b) => a - b)
}

const known = new Set(resources.map(({ scenario, resource }) => `${scenario.type} ${resource.id}`))
/** The objects of a response that were made above; people outside of the scenarios are left out. */
const found = (type: ResourceType, answer: HttpAnswer) =>
  ids(answer)
    .filter((id) => known.has(`${type} ${id}`))
    .sort((a, b) => a - b)

for (const { operation, type, visibleCells } of listings) {
  const { path, query }: Endpoint = endpoints[operation]
  const people = personNames.filter((name) =>
    resources.some(({ scenario }) => scenario.type === type && scenario.relations[name] !== undefined),
  )

  test(`${operation} holds what each person may see of every kind, and nothing else`, async () => {
    for (const name of people) {
      const answer = await get(name, path, "pageSize=200")
      assert.deepEqual(found(type, answer), expected(name, type, visibleCells), name)
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
      ProjectID: chosen.flatMap(({ resource }) => (resource.projectId === undefined ? [] : [String(resource.projectId)])),
      ID: chosen.filter(({ scenario }) => scenario.type === type).map(({ resource }) => `${resource.id}&ID=999999`),
      ImageID: granted("image"),
      DataID: granted("data"),
      RunID: granted("run"),
      Access: ["read", "write"],
      sort: ["ID", "-ID", "CreatedAt", "-UpdatedAt", "Name", "-Name", "ProjectName"],
    }
    for (const name of people) {
      const queries = [
        "",
        ...Object.entries(filters).flatMap(([filter, values]) => (query[filter] ? values.map((value) => `${filter}=${value}`) : [])),
      ]
      for (const filter of queries) {
        const all = await get(name, path, `${filter}&pageSize=200`)
        if (all.status === 400 && filter.startsWith("sort=")) continue
        assert.equal(all.status, 200, `${filter} ${all.text}`)
        const one = await get(name, path, `${filter}&pageSize=1`)
        assert.equal(Number(one.body.pageCount), ids(all).length, `${name} ${filter}: pageCount is the number of listed resources`)
        const beyond = await get(name, path, `${filter}&pageSize=1&page=${ids(all).length + 1}`)
        assert.deepEqual([beyond.body.data, beyond.body.pageCount], [[], one.body.pageCount], `${name} ${filter}`)
      }
    }
  })

  if (query.Deleted) {
    test(`${operation} shows one's own bin, and everybody's to administrators`, async () => {
      for (const name of people) {
        const deleted = resources.filter(({ scenario }) => scenario.type === type && scenario.isDeleted)
        const own = deleted
          .filter(({ scenario }) => scenario.relations[name] === "owner" || name === "boss")
          .map(({ resource }) => resource.id)
        assert.deepEqual(
          found(type, await get(name, path, "Deleted=1&pageSize=200")),
          own.sort((a, b) => a - b),
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
      const visible = answers.flatMap(({ body }) => body.data as unknown as Record<string, unknown>[])
      for (const field of fields) {
        const [fieldName = "", value] = field.split("=")
        const count = visible.filter((each) => each[fieldName] === value).length
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
