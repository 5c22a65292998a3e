import { Failure } from "#contract"
import { receiveFile } from "../files/download.ts"
import type { FilesClient } from "../files/files-client.ts"
import { assertPlainName } from "../files/trees.ts"
import { sendFile, type UploadUrlStore } from "../files/upload.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import type { IsIgnored } from "./ignored.ts"
import { ChangedMeanwhileError, conflictName } from "./local-folder.ts"
import type { FileState, RemoteEntry, RemoteFile } from "./plan.ts"

/** A folder of a dataset. Each write names the content that it replaces. */
export class DatasetFolder {
  readonly #client: FilesClient
  readonly #uploadUrls: UploadUrlStore
  readonly root: string

  constructor(client: FilesClient, uploadUrls: UploadUrlStore, root: string) {
    this.#client = client
    this.#uploadUrls = uploadUrls
    this.root = root
  }

  /** Throws if it is not there: it must not look like one that was emptied. */
  async scan(isIgnored: IsIgnored): Promise<Map<string, RemoteEntry>> {
    const found = new Map<string, RemoteEntry>()
    const visit = async (path: string) => {
      const entries = await this.#client.list(this.#path(path))
      if (!entries && path === "") throw new CliError(`There is no folder ${this.root} at the server.`, { exitCode: exitCodes.notFound })
      for (const { Name, IsDirectory, Size = 0, ModifiedAt, ETag = "" } of entries ?? []) {
        assertPlainName(Name)
        const below = path === "" ? Name : `${path}/${Name}`
        if (isIgnored(below, IsDirectory)) continue
        const file: RemoteFile = { kind: "file", size: Size, modifiedMs: Date.parse(ModifiedAt), tag: ETag }
        found.set(below, IsDirectory ? { kind: "directory" } : file)
        if (IsDirectory) await visit(below)
      }
    }
    await visit("")
    return found
  }

  async download(path: string, file: RemoteFile, tempFile: string): Promise<void> {
    const transfer = { remote: this.#path(path), target: tempFile, file: { ...file, path }, ifMatch: file.tag }
    await receiveFile(this.#client, transfer, () => {}).catch(changed)
  }

  /** Returns the new tag. `replaced` undefined: nothing may be there. */
  async upload(path: string, local: string, file: FileState, replaced: RemoteFile | undefined): Promise<string> {
    const preconditions: Record<string, string> = replaced ? { "if-match": replaced.tag } : { "if-none-match": "*" }
    return sendFile(this.#client, { ...file, file: local, path: this.#path(path), preconditions }, this.#uploadUrls, () => {}).catch(
      changed,
    )
  }

  async createDirectory(path: string): Promise<void> {
    await this.#client.createDirectory(this.#path(path)).catch(changed)
  }

  /**
   * WebDAV removes a folder with all that is in it. So an empty one is first renamed: a file that
   * somebody adds at the last moment stays, in a folder with the name of a conflict.
   */
  async remove(path: string, entry: RemoteEntry): Promise<void> {
    const url = this.#client.url(this.#path(path))
    if (entry.kind === "file") return void (await this.#client.send("DELETE", url, { headers: { "if-match": entry.tag } }).catch(gone))
    await this.#assertEmpty(path)
    const away = conflictName(path)
    const destination = this.#client.url(this.#path(away))
    await this.#client.send("MOVE", url, { headers: { destination, overwrite: "F" } }).catch(changed)
    await this.#assertEmpty(away)
    await this.#client.send("DELETE", destination).catch(gone)
  }

  async #assertEmpty(path: string): Promise<void> {
    const entries = (await this.#client.list(this.#path(path))) ?? []
    if (entries.length > 0) throw new ChangedMeanwhileError(`${path} is not empty`)
  }

  #path(path: string): string {
    return path === "" ? this.root : `${this.root}/${path}`
  }
}

/** The server refuses because the other side changed: 404, 405, 409 and 412. */
function changed(error: unknown): never {
  const isChange = error instanceof Failure && [404, 405, 409, 412].includes(error.status)
  if (isChange || (error instanceof CliError && /changed while/.test(error.message)))
    throw new ChangedMeanwhileError((error as Error).message)
  throw error
}

function gone(error: unknown): void {
  if (!(error instanceof Failure && error.status === 404)) changed(error)
}
