import type { PersonName, PopulatedServer } from "./populated-server.ts"

/** The object of an event. */
export interface EventObject {
  type: "image" | "data" | "project" | "run" | "user" | "group" | "token" | "session" | "grant"
  id: number
}

/**
 * One change and the events that it sends, written by hand from the specification. Each event lists
 * the people who receive it (`""`: nobody); nobody else receives one. An event of a run ends with
 * the run's state, and with its reason if the event has one.
 */
export interface Step {
  title: string
  /** The returned object belongs to the scenario from then on. */
  perform(server: PopulatedServer, objects: EventObject[]): Promise<EventObject | undefined>
  receivers: Readonly<Record<string, string>>
}

/** A new object, and the steps that change it. */
export interface EventScenario {
  title: string
  steps: readonly Step[]
}

export const idOf = (objects: readonly EventObject[], type: EventObject["type"]): number => {
  const object = objects.find((each) => each.type === type)
  if (!object) throw new Error(`No ${type} was created yet`)
  return object.id
}

export type Owned = "image" | "data" | "project"
export const as = (server: PopulatedServer, who: PersonName) => server.people[who].client
const grantField = { image: "ImageID", data: "DataID", project: "ProjectID", run: "RunID" } as const

/** Makes an object of ann's. */
export const create = (type: Owned, fields: object, receivers: Step["receivers"], by: PersonName = "ann"): Step => ({
  title: `made with ${JSON.stringify(fields)}`,
  async perform(server) {
    const client = as(server, by)
    if (type === "image") return { type, id: (await client.createImage({ body: { Name: "n", Image: "fake/http", ...fields } })).ID }
    if (type === "data") return { type, id: (await client.createData({ body: { Name: "n", ...fields } })).ID }
    const body = { ProjectName: "n", Type: "http", ImageID: server.imageId, ...fields }
    return { type, id: (await client.createProject({ body })).ID }
  },
  receivers,
})

export const update = (type: Owned, fields: object, receivers: Step["receivers"], by: PersonName = "ann"): Step => ({
  title: `changed to ${JSON.stringify(fields)} by ${by}`,
  async perform(server, objects) {
    const client = as(server, by)
    const change = { image: client.updateImage, data: client.updateData, project: client.updateProject }[type]
    await change({ body: { ID: idOf(objects, type), ...fields } })
    return undefined
  },
  receivers,
})

export const remove = (type: Owned, receivers: Step["receivers"]): Step => ({
  title: "deleted",
  async perform(server, objects) {
    const client = as(server, "ann")
    await { image: client.deleteImage, data: client.deleteData, project: client.deleteProject }[type]({
      query: { ID: idOf(objects, type) },
    })
    return undefined
  },
  receivers,
})

export const restore = (type: Owned, receivers: Step["receivers"]): Step => ({
  title: "restored",
  async perform(server, objects) {
    const client = as(server, "ann")
    await { image: client.restoreImage, data: client.restoreData, project: client.restoreProject }[type]({
      query: { ID: idOf(objects, type) },
    })
    return undefined
  },
  receivers,
})

export const shareWith = (type: Owned | "run", to: object, receivers: Step["receivers"], by: PersonName = "ann"): Step => ({
  title: `granted: ${JSON.stringify(to)}`,
  async perform(server, objects) {
    const { ID } = await as(server, by).createGrant({ body: { [grantField[type]]: idOf(objects, type), Access: "read", ...to } })
    return objects.some((each) => each.type === "grant" && each.id === ID) ? undefined : { type: "grant", id: ID }
  },
  receivers,
})

/** The last grant. */
export const revoke = (receivers: Step["receivers"], by: PersonName = "ann"): Step => ({
  title: "a grant is revoked",
  async perform(server, objects) {
    await as(server, by).deleteGrant({ query: { ID: idOf(objects.toReversed(), "grant") } })
    return undefined
  },
  receivers,
})

let count = 0
export const uniqueName = (prefix: string) => {
  count += 1
  return `${prefix}-${count}`
}

export const groupIdOf = (objects: EventObject[]) => idOf(objects, "group")
export const setMembers = (Members: string[], receivers: Step["receivers"]): Step => ({
  title: `its members are ${Members.join(", ") || "nobody"}`,
  async perform(server, objects) {
    await as(server, "boss").updateGroup({ body: { ID: groupIdOf(objects), Members } })
    return undefined
  },
  receivers,
})

export const startRun = (by: PersonName, fields: object, receivers: Step["receivers"]): Step => ({
  title: `${by} starts a run`,
  async perform(server, objects) {
    const client = as(server, by)
    const ProjectID = idOf(objects, "project")
    const failed = (error: { extra?: { ID?: number } }) => ({ ID: error.extra?.ID as number })
    const { ID } = await client.startRun({ body: { ProjectID, ...fields } }).catch(failed)
    return { type: "run", id: ID }
  },
  receivers,
})
export const stopRun = (by: PersonName, receivers: Step["receivers"]): Step => ({
  title: `${by} stops it`,
  async perform(server, objects) {
    await as(server, by).stopRun({ query: { ID: idOf(objects, "run") } })
    return undefined
  },
  receivers,
})
