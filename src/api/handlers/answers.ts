import { type Caller, can, dataThing, imageThing } from "#access"
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

function imagePart(row: ImageRow | undefined, id: number, caller: Caller): ImagePart {
  return row && can(caller, "image:refer", imageThing(row)) === "yes" ? withoutDoc(imageAnswer(row)) : { ID: id }
}

function dataPart(row: DataRow | undefined, id: number, caller: Caller): DataPart {
  return row && can(caller, "data:refer", dataThing(row)) === "yes" ? withoutDoc(dataAnswer(row)) : { ID: id }
}

/** Projects as this caller sees them, with their parts: three queries, however many there are. */
export async function projectAnswers(
  reads: Pick<Reads, "images" | "data" | "projects" | "runs">,
  caller: Caller,
  rows: readonly ProjectRow[],
): Promise<Project[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const links = await reads.projects.links(ids)
  const images = byId(await reads.images.getMany([...new Set(rows.map((row) => row.imageId))]))
  const data = byId(await reads.data.getMany([...new Set(links.map((link) => link.dataId))]))
  const running = new Set(await reads.runs.readyProjects(caller.userId, ids))
  const linksOf = Map.groupBy(links, (link) => link.projectId)
  return rows.map((row) => {
    const train = (linksOf.get(row.id) ?? []).map(
      (link): ProjectData => ({ ProjectID: row.id, Data: dataPart(data.get(link.dataId), link.dataId, caller), MountPath: link.mountPath }),
    )
    return projectAnswer(row, { image: imagePart(images.get(row.imageId), row.imageId, caller), train, running: running.has(row.id) })
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

function byId<Row extends { id: number }>(rows: readonly Row[]): Map<number, Row> {
  return new Map(rows.map((row) => [row.id, row]))
}
