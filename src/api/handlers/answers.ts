import { type Action, type Caller, can, dataThing, imageThing, type Thing, withGrants } from "#access"
import type { Data, DataPart, Image, ImagePart, Project, ProjectData } from "#contract"
import type { DataRow, ImageRow, ProjectRow, Reads } from "#store"
import { iso } from "./lists.ts"

function stampsOf(row: { id: number; createdAt: number; updatedAt: number; deletedAt: number | null }) {
  return { ID: row.id, CreatedAt: iso(row.createdAt), UpdatedAt: iso(row.updatedAt), DeletedAt: iso(row.deletedAt) }
}

/** Written out rather than put together: lists are made of these. */
export function imageAnswer(row: ImageRow): Image {
  return {
    ID: row.id,
    CreatedAt: iso(row.createdAt),
    UpdatedAt: iso(row.updatedAt),
    DeletedAt: iso(row.deletedAt),
    Name: row.name,
    Image: row.image,
    Comment: row.comment,
    Command: row.command,
    Env: row.env,
    Port: row.port,
    UserName: row.userName,
    IsPublished: row.isPublished,
    IsTrusted: row.isTrusted,
    Doc: row.doc,
  }
}

export function dataAnswer(row: DataRow): Data {
  return {
    ID: row.id,
    CreatedAt: iso(row.createdAt),
    UpdatedAt: iso(row.updatedAt),
    DeletedAt: iso(row.deletedAt),
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

/** Those that the caller may see inside another object, as such objects show them. */
async function parts<Row extends { id: number }, Part extends { ID: number; Doc: string }>(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  made: { rows: readonly Row[]; action: Action; thing: (row: Row) => Thing; answer: (row: Row) => Part },
): Promise<Map<number, Omit<Part, "Doc">>> {
  const { rows, action } = made
  const things = await withGrants(reads, caller, { actions: [action], things: rows.map((row) => made.thing(row)) })
  const seen = rows.filter((_, i) => can(caller, action, things[i] as Thing) === "yes")
  return new Map(seen.map((row) => [row.id, withoutDoc(made.answer(row))]))
}

const asImage = { action: "image:refer", thing: (row: ImageRow) => imageThing(row), answer: imageAnswer } as const
const asData = { action: "data:refer", thing: (row: DataRow) => dataThing(row), answer: dataAnswer } as const

/** Projects as this caller sees them, with their parts: four queries, and up to two for what is hidden unless granted, however many there are. */
export async function projectAnswers(
  reads: Pick<Reads, "images" | "data" | "projects" | "runs" | "grants">,
  caller: Caller,
  rows: readonly ProjectRow[],
): Promise<Project[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const links = await reads.projects.links(ids)
  const imageRows = await reads.images.getMany([...new Set(rows.map((row) => row.imageId))])
  const dataRows = await reads.data.getMany([...new Set(links.map((link) => link.dataId))])
  const images: Map<number, ImagePart> = await parts(reads, caller, { rows: imageRows, ...asImage })
  const data: Map<number, DataPart> = await parts(reads, caller, { rows: dataRows, ...asData })
  const running = new Set(await reads.runs.readyProjects(caller.userId, ids))
  const linksOf = Map.groupBy(links, (link) => link.projectId)
  return rows.map((row) => {
    const train = (linksOf.get(row.id) ?? []).map(
      (link): ProjectData => ({ ProjectID: row.id, Data: data.get(link.dataId) ?? { ID: link.dataId }, MountPath: link.mountPath }),
    )
    return projectAnswer(row, { image: images.get(row.imageId) ?? { ID: row.imageId }, train, running: running.has(row.id) })
  })
}

function projectAnswer(row: ProjectRow, parts: { image: ImagePart; train: ProjectData[]; running: boolean }): Project {
  return {
    ...stampsOf(row),
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
    Running: parts.running,
  }
}
