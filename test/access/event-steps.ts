import type { PersonName, PopulatedServer } from "./populated-server.ts"

/** The object of an event. */
export interface ExpectedEvent {
  type: "image" | "data" | "project" | "run" | "user" | "group" | "token" | "grant"
  id: number
}

/**
 * One change, and who is told what of it, written by hand from the specification: events, each with
 * the people who get it (`""`: nobody). A run's state stands behind its event, and behind that its
 * reason, where one is told. Everybody else is told nothing.
 */
export interface Step {
  says: string
  /** The returned object belongs to the scenario from then on. */
  does(server: PopulatedServer, things: ExpectedEvent[]): Promise<ExpectedEvent | undefined>
  tells: Readonly<Record<string, string>>
}

/** An object of its own, and the steps that change it. */
export interface EventScenario {
  says: string
  steps: readonly Step[]
}

export const idOf = (things: readonly ExpectedEvent[], type: ExpectedEvent["type"]): number => {
  const thing = things.find((each) => each.type === type)
  if (!thing) throw new Error(`No ${type} was create yet`)
  return thing.id
}

export type Owned = "image" | "data" | "project"
export const as = (server: PopulatedServer, who: PersonName) => server.people[who].client
const grantField = { image: "ImageID", data: "DataID", project: "ProjectID", run: "RunID" } as const

/** Makes an object of ann's. */
export const create = (type: Owned, fields: object, tells: Step["tells"], by: PersonName = "ann"): Step => ({
  says: `made with ${JSON.stringify(fields)}`,
  async does(server) {
    const client = as(server, by)
    if (type === "image") return { type, id: (await client.createImage({ body: { Name: "n", Image: "fake/http", ...fields } })).ID }
    if (type === "data") return { type, id: (await client.createData({ body: { Name: "n", ...fields } })).ID }
    const body = { ProjectName: "n", Type: "http", ImageID: server.imageId, ...fields }
    return { type, id: (await client.createProject({ body })).ID }
  },
  tells,
})

export const update = (type: Owned, fields: object, tells: Step["tells"], by: PersonName = "ann"): Step => ({
  says: `changed to ${JSON.stringify(fields)} by ${by}`,
  async does(server, things) {
    const client = as(server, by)
    const change = { image: client.updateImage, data: client.updateData, project: client.updateProject }[type]
    await change({ body: { ID: idOf(things, type), ...fields } })
    return undefined
  },
  tells,
})

export const remove = (type: Owned, tells: Step["tells"]): Step => ({
  says: "deleted",
  async does(server, things) {
    const client = as(server, "ann")
    await { image: client.deleteImage, data: client.deleteData, project: client.deleteProject }[type]({ query: { ID: idOf(things, type) } })
    return undefined
  },
  tells,
})

export const restore = (type: Owned, tells: Step["tells"]): Step => ({
  says: "restored",
  async does(server, things) {
    const client = as(server, "ann")
    await { image: client.restoreImage, data: client.restoreData, project: client.restoreProject }[type]({
      query: { ID: idOf(things, type) },
    })
    return undefined
  },
  tells,
})

export const shareWith = (type: Owned | "run", to: object, tells: Step["tells"], by: PersonName = "ann"): Step => ({
  says: `granted: ${JSON.stringify(to)}`,
  async does(server, things) {
    const { ID } = await as(server, by).createGrant({ body: { [grantField[type]]: idOf(things, type), Access: "read", ...to } })
    return things.some((each) => each.type === "grant" && each.id === ID) ? undefined : { type: "grant", id: ID }
  },
  tells,
})

/** The last grant. */
export const revoke = (tells: Step["tells"], by: PersonName = "ann"): Step => ({
  says: "a grant is taken back",
  async does(server, things) {
    await as(server, by).deleteGrant({ query: { ID: idOf(things.toReversed(), "grant") } })
    return undefined
  },
  tells,
})

let count = 0
export const uniqueName = (word: string) => {
  count += 1
  return `${word}-${count}`
}

export const inGroup = (things: ExpectedEvent[]) => idOf(things, "group")
export const setMembers = (Members: string[], tells: Step["tells"]): Step => ({
  says: `its members are ${Members.join(", ") || "nobody"}`,
  async does(server, things) {
    await as(server, "boss").updateGroup({ body: { ID: inGroup(things), Members } })
    return undefined
  },
  tells,
})

export const startRun = (by: PersonName, fields: object, tells: Step["tells"]): Step => ({
  says: `${by} starts a run`,
  async does(server, things) {
    const client = as(server, by)
    const ProjectID = idOf(things, "project")
    const failed = (error: { extra?: { ID?: number } }) => ({ ID: error.extra?.ID as number })
    const { ID } = await client.startRun({ body: { ProjectID, ...fields } }).catch(failed)
    return { type: "run", id: ID }
  },
  tells,
})
export const stopRun = (by: PersonName, tells: Step["tells"]): Step => ({
  says: `${by} stops it`,
  async does(server, things) {
    await as(server, by).stopRun({ query: { ID: idOf(things, "run") } })
    return undefined
  },
  tells,
})
