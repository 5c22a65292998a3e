import { type Action, type Caller, can, dataResource, imageResource, loadGrants, type Resource } from "#access"
import type { Data, DataPart, Image, ImagePart, Project, ProjectData } from "#contract"
import type { DataRow, ImageRow, ProjectDatasetRow, ProjectDatasetSummary, ProjectRow, Reads, RowSummaries } from "#store"
import { toCommonFields, toTimestamp } from "./lists.ts"

/** Written out, since spreading objects is slow and lists are made of these. */
export function toImageResponse(row: ImageRow): Image {
  return {
    ID: row.id,
    CreatedAt: toTimestamp(row.createdAt),
    UpdatedAt: toTimestamp(row.updatedAt),
    DeletedAt: toTimestamp(row.deletedAt),
    Name: row.name,
    Image: row.image,
    Comment: row.comment,
    Command: row.command,
    Env: row.env,
    Port: row.port,
    UserName: row.userName,
    IsPublished: row.isPublished,
    IsTrusted: row.isTrusted,
    WritablePaths: row.writablePaths,
    KeepPresent: row.keepPresent,
    Doc: row.doc,
  }
}

export function toDataResponse(row: DataRow): Data {
  return {
    ID: row.id,
    CreatedAt: toTimestamp(row.createdAt),
    UpdatedAt: toTimestamp(row.updatedAt),
    DeletedAt: toTimestamp(row.deletedAt),
    Type: row.type,
    Name: row.name,
    Comment: row.comment,
    UserName: row.userName,
    AccessInfo: row.accessInfo,
    IsPublished: row.isPublished,
    Doc: row.doc,
  }
}

function withoutDoc<T extends { Doc: string }>({ Doc: _doc, ...rest }: T): Omit<T, "Doc"> {
  return rest
}

/** The parts of another object that the caller may see, without their `Doc`. */
async function visibleParts<Row extends { id: number }, Part extends { ID: number; Doc: string }>(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  parts: { rows: readonly Row[]; action: Action; resource: (row: Row) => Resource; toResponse: (row: Row) => Part },
): Promise<Map<number, Omit<Part, "Doc">>> {
  const { rows, action } = parts
  const resources = await loadGrants(reads, caller, { actions: [action], resources: rows.map((row) => parts.resource(row)) })
  const seen = rows.filter((_, i) => can(caller, action, resources[i] as Resource) === "yes")
  return new Map(seen.map((row) => [row.id, withoutDoc(parts.toResponse(row))]))
}

const imageParts = { action: "image:refer", resource: (row: ImageRow) => imageResource(row), toResponse: toImageResponse } as const
const dataParts = { action: "data:refer", resource: (row: DataRow) => dataResource(row), toResponse: toDataResponse } as const

/** Answers in which long texts may be missing, with the approximate bytes of each whole answer. */
export interface SummaryResponses<A> {
  responses: A[]
  bytes: number[]
  /** Whether a text is missing in any of the answers. */
  isTruncated: boolean
}

/** The approximate size of one object's names, times and flags in an answer. */
const baseBytes = 600

export function toSummaryResponses<Row, A>(
  { rows, bytes, isTruncated = false }: RowSummaries<Row>,
  toResponse: (row: Row) => A,
): SummaryResponses<A> {
  return { responses: rows.map(toResponse), bytes: rows.map((_, i) => baseBytes + (bytes?.[i] ?? 0)), isTruncated }
}

type ProjectReads = Pick<Reads, "images" | "data" | "projects" | "runs" | "grants">

interface PartReads {
  links(ids: readonly number[]): Promise<(ProjectDatasetRow & Partial<ProjectDatasetSummary>)[]>
  images(ids: readonly number[]): Promise<RowSummaries<ImageRow>>
  data(ids: readonly number[]): Promise<RowSummaries<DataRow>>
}

/**
 * Projects as this caller sees them, with their parts: four queries, and up to two for what is
 * hidden unless granted, however many there are.
 */
export async function toProjectResponses(reads: ProjectReads, caller: Caller, rows: readonly ProjectRow[]): Promise<Project[]> {
  const { images, data, projects } = reads
  const whole: PartReads = {
    links: (ids) => projects.links(ids),
    images: async (ids) => ({ rows: await images.parts(ids) }),
    data: async (ids) => ({ rows: await data.parts(ids) }),
  }
  return (await addProjectParts(reads, caller, { found: { rows: [...rows] }, partReads: whole })).responses
}

/** The same for a page, without long texts: as many queries. */
export function toProjectSummaries(
  reads: ProjectReads,
  caller: Caller,
  found: RowSummaries<ProjectRow>,
): Promise<SummaryResponses<Project>> {
  const { images, data, projects } = reads
  const summaries: PartReads = {
    links: (ids) => projects.linkSummaries(ids),
    images: (ids) => images.partSummaries(ids),
    data: (ids) => data.partSummaries(ids),
  }
  return addProjectParts(reads, caller, { found, partReads: summaries })
}

async function addProjectParts(
  reads: ProjectReads,
  caller: Caller,
  { found, partReads }: { found: RowSummaries<ProjectRow>; partReads: PartReads },
): Promise<SummaryResponses<Project>> {
  const { rows } = found
  if (rows.length === 0) return { responses: [], bytes: [], isTruncated: false }
  const ids = rows.map((row) => row.id)
  const links = await partReads.links(ids)
  const foundImages = await partReads.images([...new Set(rows.map((row) => row.imageId))])
  const foundData = await partReads.data([...new Set(links.map((link) => link.dataId))])
  const images: Map<number, ImagePart> = await visibleParts(reads, caller, { rows: foundImages.rows, ...imageParts })
  const data: Map<number, DataPart> = await visibleParts(reads, caller, { rows: foundData.rows, ...dataParts })
  const running = new Set(await reads.runs.readyProjects(caller.userId, ids))
  const linksOf = Map.groupBy(links, (link) => link.projectId)
  const responses = rows.map((row) => {
    const train = (linksOf.get(row.id) ?? []).map(
      (link): ProjectData => ({ ProjectID: row.id, Data: data.get(link.dataId) ?? { ID: link.dataId }, MountPath: link.mountPath }),
    )
    return toProjectResponse(row, { image: images.get(row.imageId) ?? { ID: row.imageId }, train, running: running.has(row.id) })
  })
  const [imageBytes, dataBytes] = [bytesById(foundImages), bytesById(foundData)]
  const linkBytes = (link: ProjectDatasetRow & Partial<ProjectDatasetSummary>) =>
    baseBytes / 2 + (link.bytes ?? 0) + (dataBytes.get(link.dataId) ?? 0)
  const bytes = rows.map((row, i) => {
    const ofLinks = (linksOf.get(row.id) ?? []).reduce((sum, link) => sum + linkBytes(link), 0)
    return baseBytes + (found.bytes?.[i] ?? 0) + baseBytes / 2 + (imageBytes.get(row.imageId) ?? 0) + ofLinks
  })
  const isTruncated =
    [found.isTruncated, foundImages.isTruncated, foundData.isTruncated].includes(true) || links.some((link) => link.isTruncated)
  return { responses, bytes, isTruncated }
}

function bytesById({ rows, bytes }: RowSummaries<{ id: number }>): Map<number, number> {
  return new Map(rows.map(({ id }, i) => [id, bytes?.[i] ?? 0]))
}

function toProjectResponse(row: ProjectRow, parts: { image: ImagePart; train: ProjectData[]; running: boolean }): Project {
  return {
    ...toCommonFields(row),
    ProjectName: row.projectName,
    UserName: row.userName,
    GroupName: row.groupName,
    Type: row.type,
    Comment: row.comment,
    Doc: row.doc,
    IsPublic: row.isPublic,
    IsTrusted: row.isTrusted,
    Image: parts.image,
    ImageID: row.imageId,
    TrainData: parts.train,
    UserPath: row.userPath,
    CodePath: row.codePath,
    ModelPath: row.modelPath,
    StartMinutes: row.startMinutes,
    IdleMinutes: row.idleMinutes,
    MaxRunHours: row.maxRunHours,
    Running: parts.running,
  }
}
