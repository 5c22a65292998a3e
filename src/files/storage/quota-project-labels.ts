import { constants } from "node:fs"
import { type DirectoryHandle, disposableDescriptor, type EntryName } from "../tree/directory-handle.ts"
import { isOutOfSpace, type QuotaProject, readQuotaProject, writeQuotaProject } from "./quota-project.ts"

/** So many IDs from the first one on belong to this installation. */
const ownIds = 1_000_000_000

export interface LabelOptions {
  project: number
  /** The first ID of this installation. Undefined: every ID may be replaced. */
  firstProject?: number | undefined
  /** Whether files are checked in directories that have the right ID already. */
  checksFiles: boolean
}

/**
 * Gives the files of a tree the ID of one project. An entry with an ID that is not of this
 * installation stays as it is: it belongs to an administrator's own quotas.
 */
export class QuotaProjectLabels {
  readonly #options: LabelOptions
  /** Entries that the project's limit leaves no room for. */
  refused = 0

  constructor(options: LabelOptions) {
    this.#options = options
  }

  /**
   * Labels a directory before its entries are read, so that entries made from now on are labelled
   * by the kernel. Returns whether its files have to be labelled, too.
   */
  labelDirectory({ fd }: DirectoryHandle): boolean {
    const project = readQuotaProject(fd)
    if (!project || !this.#isOwn(project)) return false
    if (project.id === this.#options.project && project.isInherited) return this.#options.checksFiles
    return this.#write(fd, { id: this.#options.project, isInherited: true })
  }

  labelFile(parent: DirectoryHandle, name: EntryName): void {
    let fd: number
    try {
      fd = parent.open(name, constants.O_RDONLY)
    } catch {
      // Deleted, or closed by its owner. The next count still counts it.
      return
    }
    using file = disposableDescriptor(fd)
    const project = readQuotaProject(file.fd)
    if (project && project.id !== this.#options.project && this.#isOwn(project))
      this.#write(file.fd, { id: this.#options.project, isInherited: false })
  }

  #isOwn({ id }: QuotaProject): boolean {
    const { firstProject } = this.#options
    return id === 0 || firstProject === undefined || (id >= firstProject && id < firstProject + ownIds)
  }

  #write(fd: number, project: QuotaProject): boolean {
    try {
      writeQuotaProject(fd, project)
      return true
    } catch (error) {
      if (isOutOfSpace(error)) this.refused += 1
      return false
    }
  }
}
