import type { FailureBody, FailureCode } from "#contract"

/**
 * Why a request is refused, as the caller reads it. Has the shape of the contract's `Failure`,
 * whose folder's door would load more into the worker than it needs.
 */
export class Refusal extends Error {
  override readonly name = "Refusal"
  readonly status: number
  readonly code: FailureCode
  readonly headers: Readonly<Record<string, string>>
  /**
   * The content of a `DAV:error` element, where RFC 4918 wants one instead of the failure object.
   */
  readonly condition: string | undefined
  /** There may be something that the caller may not know of; they are not told. */
  readonly isHidden: boolean

  constructor(status: number, code: FailureCode, msg: string, options: RefusalOptions = {}) {
    super(msg)
    this.status = status
    this.code = code
    this.headers = options.headers ?? {}
    this.condition = options.condition
    this.isHidden = options.isHidden ?? false
  }

  toBody(): FailureBody {
    return { ok: false, msg: this.message, code: this.code }
  }
}

export interface RefusalOptions {
  headers?: Readonly<Record<string, string>>
  condition?: string
  isHidden?: boolean
}

/** The other side closed the connection: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = "ClientGone"
}

export const notFound = (options: RefusalOptions = {}): Refusal =>
  new Refusal(404, "not_found", "There is no such file or directory", options)
export const hidden = (): Refusal => notFound({ isHidden: true })
export const forbidden = (msg: string): Refusal => new Refusal(403, "forbidden", msg)
export const invalid = (msg: string): Refusal => new Refusal(400, "invalid", msg)

/**
 * What a failed file operation means to the caller; undefined where it means that the server is at
 * fault.
 */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === undefined ? undefined : byErrno[code]?.()
}

const locked = (): Refusal => new Refusal(423, "locked", "A program is using it; try again later")
const full = (): Refusal => new Refusal(507, "storage_full", "There is no room left on the disk")
const denied = (): Refusal => forbidden("The file system does not allow it")
const busy = (): Refusal =>
  new Refusal(503, "unavailable", "The file server is at its limit; try again", { headers: { "Retry-After": "1" } })

const byErrno: Readonly<Record<string, () => Refusal>> = {
  ENOENT: notFound,
  ENOTDIR: notFound,
  ELOOP: notFound,
  ENXIO: notFound,
  ENODEV: notFound,
  ENAMETOOLONG: notFound,
  ESTALE: notFound,
  EACCES: denied,
  EPERM: denied,
  EROFS: denied,
  ENOSPC: full,
  EDQUOT: full,
  EFBIG: () => new Refusal(413, "too_large", "The file system does not hold files of this size"),
  EMLINK: () => new Refusal(507, "storage_full", "The directory can hold no more directories"),
  EBUSY: locked,
  ETXTBSY: locked,
  EAGAIN: locked,
  EEXIST: () => new Refusal(409, "conflict", "Something of this name appeared in the meantime"),
  ENOTEMPTY: () => new Refusal(409, "conflict", "The directory changed in the meantime; try again"),
  EISDIR: () => new Refusal(409, "conflict", "It became a directory in the meantime"),
  EMFILE: busy,
  ENFILE: busy,
  ENOMEM: busy,
}
