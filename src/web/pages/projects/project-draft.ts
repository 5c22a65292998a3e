import type { Project, ProjectType } from "#contract"

export interface DraftDataset {
  ID: number
  Name: string
  /** Empty: the service chooses a path made from the name. */
  MountPath: string
}

/** The fields of a project that people write. */
export interface ProjectDraft {
  ProjectName: string
  Type: ProjectType
  Image: { ID: number; Name: string } | null
  TrainData: readonly DraftDataset[]
  GroupName: string
  Comment: string
  Doc: string
  StartMinutes: number
  IdleMinutes: number
  MaxRunHours: number
  IsTrusted: boolean
}

export const emptyProject: ProjectDraft = {
  ProjectName: "",
  Type: "jupyterlab",
  Image: null,
  TrainData: [],
  GroupName: "",
  Comment: "",
  Doc: "",
  StartMinutes: 0,
  IdleMinutes: 0,
  MaxRunHours: 0,
  IsTrusted: false,
}

/** A part of a project that the reader may not see has an ID alone. */
export function projectPartName(part: { ID: number } | { ID: number; Name: string }, fallback: (id: number) => string): string {
  return "Name" in part ? part.Name : fallback(part.ID)
}

interface Fallbacks {
  image: (id: number) => string
  dataset: (id: number) => string
}

export function projectDraftOf(project: Project, names: Fallbacks): ProjectDraft {
  const { ProjectName, Type, GroupName, Comment, Doc, StartMinutes, IdleMinutes, MaxRunHours, IsTrusted } = project
  return {
    ProjectName,
    Type,
    Image: { ID: project.ImageID, Name: projectPartName(project.Image, names.image) },
    TrainData: project.TrainData.map(({ Data, MountPath }) => ({ ID: Data.ID, Name: projectPartName(Data, names.dataset), MountPath })),
    GroupName,
    Comment,
    Doc,
    StartMinutes,
    IdleMinutes,
    MaxRunHours,
    IsTrusted,
  }
}

/** The body of a POST or PUT with these fields. */
export function projectBody({ Image, TrainData, ...fields }: Partial<ProjectDraft>): object {
  return {
    ...fields,
    ...(Image ? { ImageID: Image.ID } : {}),
    ...(TrainData
      ? { TrainData: TrainData.map(({ ID, MountPath }) => ({ ID, ...(MountPath.trim() === "" ? {} : { MountPath: MountPath.trim() }) })) }
      : {}),
  }
}

/** An image's name made from its reference: `registry/team/lab:2` is `lab`. */
export function imageNameFromReference(reference: string): string {
  const path = reference.split("@")[0] ?? ""
  return (path.split("/").at(-1) ?? "").split(":")[0] || reference
}
