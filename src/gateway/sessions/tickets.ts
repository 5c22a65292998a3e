import { randomBytes } from "node:crypto"
import { bounds, Failure } from "#contract"
import { type Clock, Signer } from "#kit"
import { gatewayPrefix, sanitizePath } from "../addressing/paths.ts"
import type { RunUrls } from "../addressing/run-urls.ts"
import type { RunDirectory, RunTarget, Visitor } from "../run-directory.ts"

const ticketLifetimeMs = bounds.gateway.ticketMs.value

export interface TicketRequest {
  visitor: Visitor
  target: Pick<RunTarget, "id" | "key">
  /** The `nonce` parameter of `/open`, unchanged. */
  nonce: string
  /** The `path` parameter of `/open`, unchanged; without it the landing page. */
  path?: string | undefined
}

/** The claims of a ticket. `path` is relative to the program's base. */
export interface Ticket {
  id: string
  key: string
  visitor: Visitor
  nonce: string
  path: string
}

/**
 * One-time tickets from the base URL to a run's own origin. They are signed, so that one process
 * can issue and another can accept them. The run directory remembers used tickets for all.
 */
export class Tickets {
  readonly #signer: Signer
  readonly #urls: RunUrls
  readonly #clock: Clock
  readonly #runs: Pick<RunDirectory, "claimTicket">

  constructor(options: { cookieKey: Buffer; urls: RunUrls; runs: Pick<RunDirectory, "claimTicket">; clock: Clock }) {
    this.#runs = options.runs
    this.#signer = new Signer(options.cookieKey, "gateway ticket")
    this.#urls = options.urls
    this.#clock = options.clock
  }

  /**
   * The address at the run's own origin that lets this visitor's browser in, once, within 30
   * seconds. The caller has checked the visitor's right. Throws a `Failure`: `invalid` (`nonce`) on
   * a nonce that the gateway did not make, `unavailable` for a run without a port.
   */
  issue({ visitor, target, nonce, path }: TicketRequest): string {
    if (!/^[A-Za-z0-9_-]{43}$/.test(nonce))
      throw new Failure("invalid", "nonce must be one that a run's own origin created", { field: "nonce" })
    const { userId, credentialId, scopedRunId = null } = visitor
    const body = [
      randomBytes(9).toString("base64url"),
      target.key,
      this.#clock.now(),
      userId,
      credentialId,
      scopedRunId,
      nonce,
      sanitizePath(path),
    ]
    return `${requireOrigin(this.#urls, target)}${gatewayPrefix}enter?ticket=${this.#signer.sign(body)}`
  }

  /**
   * The claims of a ticket, even if used or expired; undefined when this installation did not sign
   * it.
   */
  read(text: string): (Ticket & { endsAt: number }) | undefined {
    const signed = this.#signer.verify(text)
    if (!Array.isArray(signed)) return undefined
    const [id, key, issuedAt, userId, credentialId, scopedRunId, nonce, path] = signed
    const visitor = { userId, credentialId, ...(scopedRunId === null ? {} : { scopedRunId }) }
    return { id, key, visitor, nonce, path, endsAt: issuedAt + ticketLifetimeMs }
  }

  /** Uses a ticket. False when it was used before or has expired. Throws as `claimTicket` does. */
  async use({ id, endsAt, visitor }: Pick<Ticket, "id" | "visitor"> & { endsAt: number }): Promise<boolean> {
    return endsAt > this.#clock.now() && (await this.#runs.claimTicket({ id: `ticket ${id}`, endsAt, userId: visitor.userId }))
  }
}

/** Throws a `Failure` (503) for a run without a port, if runs have ports of their own. */
export function requireOrigin(urls: RunUrls, target: Pick<RunTarget, "key">): string {
  const origin = urls.originOf(target)
  if (origin !== undefined) return origin
  throw new Failure(
    "unavailable",
    "This run has no address for browsers: all ports of the person who started it are in use, or there are none for them",
  )
}
