import { constants } from "node:os"
import { Failure, type FailureOptions } from "#contract"
import type { IdentifyResult } from "./access/authority.ts"

export interface DavFailureOptions extends FailureOptions {
  /**
   * The content of a `DAV:error` element, if RFC 4918 requires one instead of the failure object.
   */
  condition?: string
  /** The entry may exist, but the caller must not learn whether it does. */
  isHidden?: boolean
}

/** A failure with the parts that only WebDAV has. */
export class DavFailure extends Failure {
  readonly condition: string | undefined
  readonly isHidden: boolean

  constructor(code: Failure["code"], msg: string, options: DavFailureOptions = {}) {
    super(code, msg, options)
    this.condition = options.condition
    this.isHidden = options.isHidden ?? false
  }
}

/** The client closed the connection: there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError"
}

export const notFound = (options: DavFailureOptions = {}): Failure =>
  new DavFailure("not_found", "There is no such file or directory", options)
/** For an entry that may exist; the caller must not learn whether it does. */
export const hiddenNotFound = (): Failure => notFound({ isHidden: true })
export const forbidden = (msg: string): Failure => new Failure("forbidden", msg)
export const invalid = (msg: string): Failure => new Failure("invalid", msg)

const identityCodes = { 401: "unauthorized", 403: "forbidden", 429: "too_many_requests", 503: "unavailable" } as const

/** The refusal of credentials. Only the files address asks for Basic. */
export function identityFailure({ status, msg, retryAfterSeconds }: Extract<IdentifyResult, { ok: false }>): Failure {
  return new Failure(identityCodes[status], msg, {
    status,
    headers: {
      ...(status === 401 ? { "WWW-Authenticate": 'Basic realm="Quayside"' } : {}),
      ...(retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) }),
    },
  })
}

/**
 * Maps a failed file operation to the caller's failure; undefined when the server is at fault.
 */
export function fileFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException
  // Node.js has no name for this one.
  if (errno === -constants.errno.EDQUOT) return overQuota()
  return code === undefined ? undefined : byErrno[code]?.()
}

const locked = (): Failure => new Failure("locked", "A program is using it; try again later")
const full = (): Failure => new Failure("storage_full", "There is no room left on the disk")
const overQuota = (): Failure =>
  new Failure("storage_full", "The file system's quota leaves no room: delete files, or ask an administrator for more")
const denied = (): Failure => forbidden("The file system does not allow it")
const busy = (): Failure => new Failure("unavailable", "The file server is at its limit; try again", { headers: { "Retry-After": "1" } })

const byErrno: Readonly<Record<string, () => Failure>> = {
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
  EFBIG: () => new Failure("too_large", "The file system does not hold files of this size"),
  EMLINK: () => new Failure("storage_full", "The directory can hold no more directories"),
  EBUSY: locked,
  ETXTBSY: locked,
  EAGAIN: locked,
  EEXIST: () => new Failure("conflict", "Something of this name appeared in the meantime"),
  ENOTEMPTY: () => new Failure("conflict", "The directory changed in the meantime; try again"),
  EISDIR: () => new Failure("conflict", "It became a directory in the meantime"),
  EMFILE: busy,
  ENFILE: busy,
  ENOMEM: busy,
}
