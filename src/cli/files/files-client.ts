import { Failure, readFailure } from "#contract"
import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { createFetch } from "../session/connection.ts"

/** An entry of a directory at the files address. */
export interface DirectoryEntry {
  Name: string
  IsDirectory: boolean
  ModifiedAt: string
  Size?: number
  ETag?: string
}

interface DirectoryListing {
  Entries: DirectoryEntry[]
  IsComplete: boolean
}

/** A body is sent again with each attempt, so it is made anew. */
interface FileRequest {
  headers?: Readonly<Record<string, string>>
  body?: () => BodyInit
}

const maxAttempts = 5
const firstWaitMs = 300
/** Refusals that another attempt may not meet. */
const isTemporary = (status: number) => status === 429 || status === 502 || status === 503 || status === 504

/** Requests to the files address, repeated when a connection breaks. */
export class FilesClient {
  readonly #cli: Cli
  readonly #filesUrl: string
  readonly #authorization: string

  constructor(cli: Cli, filesUrl: string, token: string) {
    this.#cli = cli
    this.#filesUrl = filesUrl
    this.#authorization = `Bearer ${token}`
  }

  /** The address of a path below the files root. */
  url(path: string): string {
    return this.#filesUrl + path.split("/").map(encodeURIComponent).join("/")
  }

  /** An address that the server answered, which must be its own. */
  checkLocation(location: string): string {
    const url = new URL(location, this.url("/"))
    if (url.origin !== new URL(this.#filesUrl).origin) throw new CliError(`The files address answered an address elsewhere: ${url.origin}`)
    return url.href
  }

  /** Sends a request, several times if need be. A refusal is thrown as `Failure`. */
  async send(method: string, url: string, request: FileRequest = {}): Promise<Response> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.sendOnce(method, url, request)
      } catch (error) {
        if (attempt === maxAttempts || !this.isRetryable(error)) throw error
        await this.backOff(attempt)
      }
    }
  }

  async sendOnce(method: string, url: string, { headers, body }: FileRequest = {}): Promise<Response> {
    const content = body?.()
    const response = await createFetch(this.#cli)(url, {
      method,
      headers: { ...headers, authorization: this.#authorization },
      // Node sends a stream as a body only with this option.
      ...(content === undefined ? {} : { body: content, duplex: "half" }),
    } as RequestInit)
    if (response.ok) return response
    throw await readFailure(response, "The files address")
  }

  /** Whether the connection or the server failed, and not the request. */
  isRetryable(error: unknown): boolean {
    if (this.#cli.process.signal.aborted) return false
    return error instanceof Failure ? isTemporary(error.status) : error instanceof TypeError
  }

  backOff(attempt: number): Promise<void> {
    const ms = firstWaitMs * 2 ** (attempt - 1)
    return import("node:timers/promises").then(({ setTimeout }) => setTimeout(ms, undefined, { signal: this.#cli.process.signal }))
  }

  /** The entries of a directory; undefined if there is none. */
  async list(path: string): Promise<DirectoryEntry[] | undefined> {
    const response = await this.send("GET", `${this.url(path)}/?list=json`).catch((error: unknown) => {
      if (error instanceof Failure && error.status === 404) return undefined
      throw error
    })
    if (!response) return undefined
    const { Entries, IsComplete } = (await response.json()) as DirectoryListing
    if (!IsComplete) throw new CliError(`${path} has too many entries to list in one answer; push or pull its folders one by one.`)
    return Entries
  }

  /** Makes a directory; one that is there is fine. */
  async createDirectory(path: string): Promise<void> {
    await this.send("MKCOL", this.url(path)).catch((error: unknown) => {
      if (!(error instanceof Failure && error.status === 405)) throw error
    })
  }
}
