import { constants } from "node:fs"
import { type DirectoryHandle, disposableDescriptor, type EntryName } from "../tree/directory-handle.ts"
import { isFull, type Project, readProject, writeProject } from "./project-id.ts"

/** So many IDs from the first one on belong to this installation. */
const ownIds = 1_000_000_000

interface LabelOptions {
  /** The first ID of this installation. Undefined: every ID may be replaced. */
  firstProject?: number
  /** Whether files are checked in directories that have the right ID already. */
  checksFiles: boolean
}

/**
 * Gives the files of a tree the ID of one project. An entry with an ID that is not of this
 * installation stays as it is: it belongs to an administrator's own quotas.
 */
export class ProjectLabels {
  readonly #id: number
  readonly #options: LabelOptions
  /** Entries that the project's limit leaves no room for. */
  refused = 0

  constructor(id: number, options: LabelOptions) {
    this.#id = id
    this.#options = options
  }

  /**
   * Labels a directory before its entries are read, so that entries made from now on are labelled
   * by the kernel. Returns whether its files have to be labelled, too.
   */
  labelDirectory({ fd }: DirectoryHandle): boolean {
    const project = readProject(fd)
    if (!project || !this.#isOwn(project)) return false
    if (project.id === this.#id && project.isInherited) return this.#options.checksFiles
    return this.#write(fd, { id: this.#id, isInherited: true })
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
    const project = readProject(file.fd)
    if (project && project.id !== this.#id && this.#isOwn(project)) this.#write(file.fd, { id: this.#id, isInherited: false })
  }

  #isOwn({ id }: Project): boolean {
    const { firstProject } = this.#options
    return id === 0 || firstProject === undefined || (id >= firstProject && id < firstProject + ownIds)
  }

  #write(fd: number, project: Project): boolean {
    try {
      writeProject(fd, project)
      return true
    } catch (error) {
      if (isFull(error)) this.refused += 1
      return false
    }
  }
}
