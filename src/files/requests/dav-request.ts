import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import type { AllowedHosts } from "#http"
import type { FairScheduler, TurnShares } from "#kit"
import type { Authority, PathAccess } from "../access/authority.ts"
import type { OpenRequests } from "../access/open-requests.ts"
import type { RightsCache } from "../access/rights-cache.ts"
import { forbidden, hiddenNotFound } from "../failures.ts"
import type { LockTable } from "../locks/lock-table.ts"
import { releaseStaleLocksAround } from "../locks/stale-locks.ts"
import type { DeadProperties } from "../properties/dead-properties.ts"
import type { LiveProperties } from "../properties/live-properties.ts"
import type { StaleProperties } from "../properties/stale-properties.ts"
import type { StagingArea } from "../staging/staging-area.ts"
import type { StorageLedger } from "../storage/ledger.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import type { UploadStore } from "../uploads/upload-store.ts"
import { type FileAddress, joinPath } from "./address.ts"
import type { PathLocks } from "./path-locks.ts"
import type { FileQuery } from "./query.ts"
import type { CopyQueue, RequestLimiter } from "./request-limiter.ts"

/** The dependencies that all requests share. */
export interface FilesContext {
  root: DirectoryHandle
  rights: RightsCache
  staging: StagingArea
  uploads: UploadStore
  liveProperties: LiveProperties
  locks: LockTable
  /** For changes that may not overlap. */
  pathLocks: PathLocks
  deadProperties: DeadProperties
  staleProperties: StaleProperties
  storage: StorageLedger
  requestLimiter: RequestLimiter
  copyQueue: CopyQueue
  scheduler: FairScheduler
  turnShares: TurnShares
  openRequests: OpenRequests
  /** The host names of this server. */
  allowedHosts: AllowedHosts
  reportError(error: unknown): void
  recordRefusals: Authority["recordRefusals"]
  limits: RequestLimits
  /** Whether another process may serve the files by now. */
  isServedElsewhere(): boolean
}

export interface RequestLimits {
  /** Entries that a `Depth: infinity` listing may have. */
  maxDeepEntries: number
  /** After so many milliseconds without progress a connection is closed. */
  stallMs: number
}

/** One request of an authenticated person. */
export class DavRequest {
  readonly context: FilesContext
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly address: FileAddress
  /** Undefined: the file or directory itself. */
  readonly query: FileQuery | undefined
  /** Whether a page's form asked for it: the browser saves what comes. */
  readonly isFormDownload: boolean
  readonly userId: number
  readonly userName: string
  /** The files root; calls take the person's turns. */
  readonly root: TreeDirectory
  /** Authenticates again; called before a change that was authorized long ago. */
  readonly revalidate: () => Promise<void>
  /** Paths that the `If` header names and the caller may read. */
  readableIfPaths: ReadonlySet<string> = new Set()
  /**
   * Throws when the caller lost a right that the request needs to its end. Methods that need more
   * than sight set it; long requests are asked again and again.
   */
  assertStillAllowed: () => Promise<unknown> = () => this.assertVisible()
  readonly #sendContinue: () => void
  #clientGone: AbortSignal | undefined

  constructor(
    parts: Pick<
      DavRequest,
      "context" | "incoming" | "response" | "address" | "query" | "isFormDownload" | "userId" | "userName" | "revalidate"
    > & {
      sendContinue: () => void
    },
  ) {
    this.context = parts.context
    this.incoming = parts.incoming
    this.response = parts.response
    this.address = parts.address
    this.query = parts.query
    this.isFormDownload = parts.isFormDownload
    this.userId = parts.userId
    this.userName = parts.userName
    this.root = TreeDirectory.of(parts.context.root, parts.userId)
    this.revalidate = parts.revalidate
    this.#sendContinue = parts.sendContinue
  }

  get headers(): IncomingHttpHeaders {
    return this.incoming.headers
  }

  get names(): readonly string[] {
    return this.address.names
  }

  get path(): string {
    return joinPath(this.address.names)
  }

  /** Aborted when the client closes the connection before the response is complete. */
  get clientGone(): AbortSignal {
    if (this.#clientGone) return this.#clientGone
    const controller = new AbortController()
    if (this.response.destroyed) controller.abort()
    this.response.once("close", () => {
      if (!this.response.writableFinished) controller.abort()
    })
    this.#clientGone = controller.signal
    return this.#clientGone
  }

  /**
   * Waits until no other request changes these entries, perhaps for long, and then authenticates
   * again. The caller checks its rights afterwards, and once more after its look-ups.
   */
  async lockPaths(...entries: (readonly string[])[]): Promise<Disposable> {
    using stack = new DisposableStack()
    stack.use(await this.context.pathLocks.acquire(entries))
    await this.revalidate()
    return stack.move()
  }

  /** Registers a file that is being sent, until the result is disposed of. */
  holdOpen(fd: number): Disposable {
    return this.context.storage.openFiles.hold(this.userName, { fd, end: () => this.incoming.socket.destroy() })
  }

  /** Sends `100 Continue` if the client waits for it. */
  sendContinue(): void {
    this.#sendContinue()
  }

  /** Returns the caller's level on a path; throws 404 when they may not see it. */
  async assertVisible(names = this.names): Promise<Level> {
    return assertVisibleLevel(await this.context.rights.level(this.userId, names, "read"))
  }

  async assertReadable(names = this.names): Promise<void> {
    if ((await this.assertVisible(names)) === "traverse") throw forbidden("You may pass through this directory, not read it")
  }

  /** Throws unless the caller may write. Afterwards, no lock in the way is stale. */
  async assertWritable(names = this.names): Promise<void> {
    assertWriteLevel(assertVisibleLevel(await this.context.rights.level(this.userId, names, "write")))
    await releaseStaleLocksAround(this, names)
  }

  /** The person whose quota the content counts for; undefined: none. */
  async storageAccount(names = this.names): Promise<string | undefined> {
    return (await this.context.rights.access(this.userId, names)).account
  }

  /** Whether the caller may write at a path without anybody's grant. */
  async isOwner(path = this.path): Promise<boolean> {
    const names = path.split("/").filter((name) => name !== "")
    return (await this.context.rights.access(this.userId, names)).isOwner === true
  }

  /**
   * Throws unless the caller may write, replace and remove the entry. Afterwards, no lock in the
   * way is stale.
   */
  async assertReplaceable(names = this.names): Promise<void> {
    const access = await this.context.rights.access(this.userId, names)
    assertWriteLevel(assertVisibleLevel(access.level))
    if (!access.canReplace)
      throw forbidden("This is the root of a home or a dataset, or holds one: it can be neither deleted, moved nor replaced")
    await releaseStaleLocksAround(this, names)
  }
}

type Level = PathAccess["level"]

function assertVisibleLevel(level: Level): Level {
  if (level === "none") throw hiddenNotFound()
  return level
}

function assertWriteLevel(level: Level): void {
  if (level !== "write") throw forbidden("You may not write here")
}
