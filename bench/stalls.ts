// How long one request keeps everybody else waiting: the longest time for which the event loop
// stands still during each operation and the half second after it, on an installation with large
// groups, many objects and followers of events. Prints the longest ones, and their ratio to the
// median of all operations. The server runs in this process, its followers in a thread.
//   node bench/stalls.ts [--people 1500] [--groups 2] [--followers 1000] [--longest 10]

import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Worker } from "node:worker_threads"
import type { Client } from "#client"
import { unsetLimits } from "#contract"
import { type Person, startTestServer, type TestServer } from "../test/test-server.ts"
import { median } from "./tools.ts"

const { values: options } = parseArgs({
  options: {
    people: { type: "string", default: "1500" },
    groups: { type: "string", default: "2" },
    followers: { type: "string", default: "1000" },
    longest: { type: "string", default: "10" },
  },
})
const print = (line: string) => process.stdout.write(`${line}\n`)
/** Of one person, whose objects and grants together stay below the default of `MaxObjects`. */
const datasetCount = 300
const mountCount = 64
const afterMs = 500

/** Runs some work for each index, a few at a time. */
async function forEach(total: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const go = async () => {
    while (next < total) await work(next++)
  }
  await Promise.all(Array.from({ length: 8 }, go))
}

interface Installation {
  server: TestServer
  /** The first one owns all objects. All are in all groups. */
  people: readonly Person[]
  groups: readonly number[]
  data: readonly number[]
  projects: readonly number[]
  image: number
}

async function fill(server: TestServer): Promise<Installation> {
  const people: Person[] = []
  await forEach(Number(options.people), async (n) => void people.push(await server.person(`person${n}`)))
  const Members = people.map(({ userName }) => userName)
  const TotalLimits = { ...unsetLimits, MaxStorage: 100_000_000, MaxObjects: 10_000_000, MaxCpus: 100_000 }
  const groups: number[] = []
  for (let n = 0; n < Number(options.groups); n += 1)
    groups.push((await server.admin.createGroup({ body: { GroupName: `group${n}`, Members, TotalLimits } })).ID)
  return { server, people, groups, ...(await createObjects(ownerOf(people), groups.length)) }
}

const ownerOf = (people: readonly Person[]) => (people[0] as Person).client

/** Every second project has the most datasets that it may have. A group may use each object. */
async function createObjects(owner: Client, groupCount: number): Promise<Pick<Installation, "data" | "projects" | "image">> {
  const { ID: image } = await owner.createImage({ body: { Name: "image", Image: "fake/http", IsPublished: true } })
  const data: number[] = []
  const projects: number[] = []
  await forEach(datasetCount, async (n) => void data.push((await owner.createData({ body: { Type: "dir", Name: `data${n}` } })).ID))
  const mounted = data.slice(0, mountCount).map((ID) => ({ ID }))
  await forEach(datasetCount, async (n) => {
    const body = { ProjectName: `project${n}`, Type: "http", ImageID: image, IsPublic: true, TrainData: n % 2 ? [] : mounted } as const
    projects.push((await owner.createProject({ body })).ID)
  })
  await forEach(datasetCount, async (n) => {
    const GroupName = `group${n % groupCount}`
    await owner.createGrant({ body: { DataID: data[n] as number, GroupName, Access: "write" } })
    await owner.createGrant({ body: { ProjectID: projects[n] as number, GroupName, Access: "use" } })
  })
  return { data, projects, image }
}

/** People who follow events, each over a connection of their own. */
function startFollowers({ server, people }: Installation): Worker {
  const request = ({ authorization }: Person) => `GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`
  const requests = people.slice(1, 1 + Number(options.followers)).map(request)
  const code = `
    const { connect } = require("node:net")
    const { port, requests } = require("node:worker_threads").workerData
    const follow = (request) => connect(port, "127.0.0.1").on("error", () => {}).resume().write(request)
    for (const [n, request] of requests.entries()) setTimeout(() => follow(request), 5 * n)`
  return new Worker(code, { eval: true, workerData: { port: Number(new URL(server.quayside.baseUrl).port), requests } })
}

type Operations = Record<string, () => Promise<unknown>>

function listsOf(name: string, client: Client): Operations {
  const query = { pageSize: 200 }
  return {
    [`${name} lists images`]: () => client.listImages({ query }),
    [`${name} lists datasets`]: () => client.listData({ query }),
    [`${name} lists projects`]: () => client.listProjects({ query }),
    [`${name} searches projects`]: () => client.listProjects({ query: { ...query, q: "project 7" } }),
    [`${name} lists runs`]: () => client.listRuns({ query }),
    [`${name} lists groups`]: () => client.listGroups({ query }),
    [`${name} lists grants`]: () => client.listGrants({ query }),
    [`${name} reads the capacity`]: () => client.readCapacity(),
  }
}

function changesOfOwner({ people, data, projects, image }: Installation): Operations {
  const client = ownerOf(people)
  const ids = (n: number) => ({ data: data[n] as number, project: projects[n] as number })
  return {
    "the owner starts a run": () => client.startRun({ body: { ProjectID: ids(0).project } }),
    "the owner stops it": () => client.stopRun({ query: { ProjectID: ids(0).project } }),
    "the owner withdraws a group's grant": () => client.deleteGrant({ query: { DataID: ids(0).data, GroupName: "group0" } }),
    "the owner grants it again": () => client.createGrant({ body: { DataID: ids(0).data, GroupName: "group0", Access: "write" } }),
    "the owner publishes a dataset": () => client.updateData({ body: { ID: ids(3).data, IsPublished: true } }),
    "the owner changes a project": () => client.updateProject({ body: { ID: ids(4).project, Comment: "changed" } }),
    "the owner gives a project to a group": () => client.updateProject({ body: { ID: ids(4).project, GroupName: "group0" } }),
    "the owner hides a project": () => client.updateProject({ body: { ID: ids(6).project, IsPublic: false } }),
    "the owner copies a project": () => client.copyProject({ query: { ID: ids(8).project } }),
    "the owner changes an image": () => client.updateImage({ body: { ID: image, Command: "sleep 1" } }),
    "the owner deletes a dataset": () => client.deleteData({ query: { ID: ids(10).data } }),
    "the owner restores it": () => client.restoreData({ query: { ID: ids(10).data } }),
    "the owner deletes a project": () => client.deleteProject({ query: { ID: ids(12).project } }),
    "the owner restores it as well": () => client.restoreProject({ query: { ID: ids(12).project } }),
    "the owner deletes the image": () => client.deleteImage({ query: { ID: image } }),
  }
}

function changesOfAdministrator({ server: { admin }, people, groups }: Installation): Operations {
  const [group = 0] = groups
  const members = people.map(({ userName }) => userName)
  const user = async (n: number) => (await admin.readUser({ query: { UserName: members[n] ?? "" } })).ID
  return {
    "an administrator changes a group": () => admin.updateGroup({ body: { ID: group, Comment: "changed" } }),
    "an administrator removes a member": () => admin.updateGroup({ body: { ID: group, Members: members.slice(1) } }),
    "an administrator sets all members": () => admin.updateGroup({ body: { ID: group, Members: members } }),
    "an administrator limits a group": () => admin.updateGroup({ body: { ID: group, Limits: { MaxStorage: 1_000_000 } } }),
    "an administrator limits a person": async () => admin.updateUser({ body: { ID: await user(7), Limits: { MaxRuns: 3 } } }),
    "an administrator disables a person": async () => admin.updateUser({ body: { ID: await user(8), IsDisabled: true } }),
    "an administrator deletes a person": async () => admin.deleteUser({ query: { ID: await user(9) } }),
    "an administrator deletes a group": () => admin.deleteGroup({ query: { ID: group } }),
    "an administrator deletes the owner": async () => admin.deleteUser({ query: { ID: await user(0) } }),
  }
}

await using server = await startTestServer({ "starts-per-minute": "1000000", "writes-per-minute": "1000000" })
const installation = await fill(server)
const followers = startFollowers(installation)
await sleep(6_000 + 5 * Number(options.followers))
const operations: Operations = {
  ...listsOf("the owner", ownerOf(installation.people)),
  ...listsOf("a member", (installation.people[1] as Person).client),
  ...listsOf("an administrator", server.admin),
  ...changesOfOwner(installation),
  ...changesOfAdministrator(installation),
}
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const found: { name: string; ms: number }[] = []
for (const [name, run] of Object.entries(operations)) {
  delay.reset()
  await run()
  await sleep(afterMs)
  found.push({ name, ms: delay.max / 1e6 })
}
await followers.terminate()
const middle = median(found.map(({ ms }) => ms))
print(`${found.length} operations; median of the longest times for which the event loop stood still: ${middle.toFixed(1)} ms`)
for (const { name, ms } of found.sort((a, b) => b.ms - a.ms).slice(0, Number(options.longest)))
  print(`${name}: ${ms.toFixed(0)} ms (${(ms / middle).toFixed(1)} times)`)
