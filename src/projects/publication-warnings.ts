import {
  type Action,
  type Caller,
  can,
  dataResource,
  imageResource,
  loadAllGrants,
  loadGrants,
  type Principal,
  type Resource,
} from "#access"
import type { ProjectRow, Reads } from "#store"

type WarningReads = Pick<Reads, "images" | "data" | "projects" | "grants">

interface Part {
  resource: Resource
  action: Action
  /** The part's name for people who may see it, and its role in the project. */
  name: string
  role: string
}

/**
 * A sentence for each part of a published project that the people whom it is published to may not
 * use: their starts would fail. Names only parts that the caller may see.
 */
export async function publicationWarnings(reads: WarningReads, caller: Caller, project: ProjectRow): Promise<string[]> {
  const { isPublic, groupId, groupName } = project
  if (!isPublic && groupId === 0) return []
  // Somebody without relations of their own, who has nothing but what the publication gives.
  const reader: Principal = { userId: 0, isAdmin: false, groupIds: isPublic ? [] : [groupId], scopes: ["read", "write"] }
  const who = isPublic ? "other people" : `members of ${groupName}`
  const parts = [...(await imagePart(reads, caller, project)), ...(await dataParts(reads, caller, project))]
  return parts
    .filter(({ action, resource }) => can(reader, action, resource) !== "yes")
    .map(
      ({ name, role }) =>
        `${name === "" ? `The ${role}` : `The ${role}, ${JSON.stringify(name)},`} is not shared with ${who}: their starts fail`,
    )
}

async function imagePart(reads: WarningReads, caller: Caller, project: ProjectRow): Promise<Part[]> {
  const row = await reads.images.part(project.imageId)
  if (!row) return []
  const [resource] = await loadAllGrants(reads, "image", [imageResource(row)])
  const [seen] = await loadGrants(reads, caller, { actions: ["image:refer"], resources: [imageResource(row)] })
  const isVisible = can(caller, "image:refer", seen as Resource) === "yes"
  return [{ resource: resource as Resource, action: "image:use", name: isVisible ? row.name : "", role: "image" }]
}

async function dataParts(reads: WarningReads, caller: Caller, project: ProjectRow): Promise<Part[]> {
  const links = await reads.projects.links([project.id])
  const rows = await reads.data.parts(links.map(({ dataId }) => dataId))
  const resources = await loadAllGrants(
    reads,
    "data",
    rows.map((row) => dataResource(row)),
  )
  const seen = await loadGrants(reads, caller, { actions: ["data:refer"], resources: rows.map((row) => dataResource(row)) })
  return rows.map((row, i) => {
    const isVisible = can(caller, "data:refer", seen[i] as Resource) === "yes"
    return { resource: resources[i] as Resource, action: "data:readFiles", name: isVisible ? row.name : "", role: `dataset ${row.id}` }
  })
}
