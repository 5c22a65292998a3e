import type { ProjectType } from "#contract"

/** Everything that a start needs, resolved: no name in it is looked up again. */
export interface RunPlan {
  type: ProjectType
  image: string
  /** The image that named it; absent in plans of earlier versions. */
  imageId?: number
  /** The digest that `image` must still lead to, as when a run is repeated. Absent: any. */
  imageDigest?: string
  /** The digest by which its registry provides that image; absent: not known. */
  registryDigest?: string
  /**
   * Whether an administrator registered it: only then may it be one that was built on the machine.
   * Absent: no.
   */
  imageByAdmin?: boolean
  /** Null: the type's default, or the image's own. Placeholders are filled in. */
  command: readonly string[] | null
  env: Readonly<Record<string, string>>
  /** Null: the image's only exposed port if the type allows it, otherwise the type's default. */
  port: number | null
  /** The code directory: the program starts there if the image has no working directory. */
  workDir: string
  /** Minutes until the program must answer; absent: the setting. */
  startMinutes?: number
  /** The project's limits of time; absent: it has none. */
  idleMinutes?: number
  maxRunHours?: number
  /** The mount path of the user directory: the program's HOME. */
  home: string
  /** The reason why `home` is not the person's home; absent if it is. */
  homeRefusal?: string
  mounts: readonly PlannedMount[]
  /** Directories that an administrator lets the run write to; `/`: its whole root file system. */
  writablePaths?: readonly string[]
  /**
   * A run is repeated as it was: image and project as they are now do not count when it leaves the
   * queue.
   */
  isRepeat?: boolean
  /** The group of the person whose internet setting counts; absent where none does. */
  internetOf?: string
  /**
   * A name for the set of people who decide what the run's pages do: `own` is its starter alone.
   * Absent in plans of earlier versions, and where it cannot be known.
   */
  authors?: string
  /** The run's own token, for programs that take one. */
  secret: string
}

export interface PlannedMount {
  source: string
  target: string
  readOnly: boolean
  /**
   * The dataset whose directory it is; absent for the starter's own, and in plans of earlier
   * versions.
   */
  dataId?: number
}
