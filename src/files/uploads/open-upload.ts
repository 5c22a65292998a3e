import { fstatSync } from "node:fs"
import { flush } from "../staging/flush.ts"
import type { StagingArea } from "../staging/staging-area.ts"
import type { Reservation } from "../storage/reservation.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { closeQuietly } from "../tree/ignore-errors.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"

/** The facts of an upload, as they are stored. */
export interface UploadFacts {
  /** The path of the file that it becomes. */
  path: string
  length: number
  /** The account whose quota counts it; undefined: none. */
  account?: string | undefined
  /** The header `Upload-Metadata`, as it came. */
  metadata?: string | undefined
}

interface Parts {
  entry: { parent: DirectoryHandle; name: string }
  staging: StagingArea
  fd: number
  facts: UploadFacts
  room: Reservation
  idleMs: number
  /** Lets the next request open it. */
  release(): void
  /** Removes its facts. */
  forget(): Promise<void>
}

/** An upload that one request has open. Disposing closes it and keeps what came. */
export class OpenUpload implements Disposable {
  readonly fd: number
  readonly facts: UploadFacts
  readonly room: Reservation
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.fd = parts.fd
    this.facts = parts.facts
    this.room = parts.room
    this.#parts = parts
  }

  /** The bytes that came. File systems write a file's new size after its bytes. */
  get offset(): number {
    return fstatSync(this.fd).size
  }

  get expiresAt(): Date {
    return new Date(fstatSync(this.fd).mtimeMs + this.#parts.idleMs)
  }

  flush(userId: number): Promise<void> {
    return flush(this.fd, userId)
  }

  /** Renames it to its final name; a file of that name is replaced. */
  async moveTo(parent: TreeDirectory, name: string): Promise<void> {
    const { entry, staging } = this.#parts
    const from = TreeDirectory.of(entry.parent, parent.owner)
    await staging.place({ parent: from, name: entry.name, fd: this.fd }, { parent, name })
    await this.#parts.forget()
  }

  async remove(userId: number): Promise<void> {
    const { parent, name } = this.#parts.entry
    await TreeDirectory.of(parent, userId)
      .unlink(name)
      .catch(() => {})
    await this.#parts.forget()
    this.room[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    closeQuietly(this.fd)
    this.#parts.entry.parent[Symbol.dispose]()
    this.#parts.release()
  }
}
