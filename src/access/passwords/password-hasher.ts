import { randomBytes, timingSafeEqual } from "node:crypto"
import { availableParallelism } from "node:os"
import { bounds, Failure } from "#contract"
import { OverloadedError } from "#kit"
import { AuthenticationFailure } from "../caller.ts"
import { isTokenFormat, maxPasswordBytes } from "../credentials/authorization-header.ts"
import { HashQueue, type HashRequest } from "./hash-queue.ts"
import { HashThreads } from "./hash-threads.ts"

/**
 * 35 to 60 ms on one core of a small server, and 33 MiB during that time; OWASP requires at least
 * 19 MiB and 2 passes. glibc frees blocks above 32 MiB at once; it would never free a smaller one
 * on an idle server.
 */
export const defaultHashCost: HashCost = { memoryKiB: 33 * 1024, passes: 2 }
const tagLength = 32

/** Of one hash by argon2id. */
export interface HashCost {
  memoryKiB: number
  passes: number
}

interface Hash {
  memory: number
  passes: number
  parallelism: number
  nonce: Buffer
  tag: Buffer
}

/**
 * A hash that no password matches, at the cost of a real one: checked for unknown names and
 * accounts without a password.
 */
export function dummyHash(cost: HashCost = defaultHashCost): string {
  return toPhc({ ...parametersOf(cost), nonce: randomBytes(16), tag: randomBytes(tagLength) })
}

function parametersOf({ memoryKiB, passes }: HashCost): Omit<Hash, "nonce" | "tag"> {
  return { memory: memoryKiB, passes, parallelism: 1 }
}

function toPhc({ memory, passes, parallelism, nonce, tag }: Hash): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${bare(nonce)}$${bare(tag)}`
}

function bare(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "")
}

function fromPhc(text: string): Hash {
  const match = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/.exec(text)
  if (!match) throw new Error("A stored password is not an argon2id string of version 19")
  const [, memory, passes, parallelism, nonce = "", tag = ""] = match
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(nonce, "base64"),
    tag: Buffer.from(tag, "base64"),
  }
}

/**
 * Throws if a password is empty, longer than 1,024 bytes, contains NUL, or has the form of a token.
 */
export function checkNewPassword(password: string, field = "Password"): void {
  if (password === "") throw new Failure("invalid", "The password must not be empty", { field })
  if (Buffer.byteLength(password) > maxPasswordBytes) {
    throw new Failure("invalid", `The password must have at most ${maxPasswordBytes} bytes; got ${Buffer.byteLength(password)}`, { field })
  }
  if (password.includes("\0")) throw new Failure("invalid", "The password must not contain NUL", { field })
  if (isTokenFormat(password)) throw new Failure("invalid", "The password must not have the form of a token", { field })
}

const { waitingHashes, waitingSuspectHashes } = bounds.accounts

export interface PasswordHasherOptions {
  /** Concurrent hashes, 33 MiB each. Default: one less than there are cores, 1 to 3. */
  maxConcurrent?: number
  /**
   * How many hashes of known devices may wait, and how many of addresses without a recent failure.
   * A tenth of that for all others. Default 1,000.
   */
  maxQueued?: number
  /** Of new hashes, and of the check of an unknown name. Tests need no expensive ones. */
  cost?: HashCost
}

export interface VerifyOptions extends HashRequest {
  /** Called when the hash is about to run; may throw. */
  begin: () => void
  /** Called before the next hash runs. */
  end?: (right: boolean) => void
}

/**
 * Hashes passwords, few at a time, in threads of lower priority. Rejects with an
 * `AuthenticationFailure` (503) when too many wait or after `close`.
 */
export class PasswordHasher implements AsyncDisposable {
  readonly #threads = new HashThreads()
  readonly #queue: HashQueue
  readonly #cost: HashCost

  constructor(options: PasswordHasherOptions = {}) {
    const { maxConcurrent = Math.min(3, Math.max(1, availableParallelism() - 1)), maxQueued } = options
    this.#cost = options.cost ?? defaultHashCost
    const each = maxQueued ?? waitingHashes.value
    const suspect = maxQueued === undefined ? waitingSuspectHashes.value : Math.ceil(maxQueued / 10)
    this.#queue = new HashQueue(maxConcurrent, { known: each, clean: each, suspect })
  }

  /** Returns a PHC string with a new salt. */
  hash(password: string): Promise<string> {
    const parameters = { ...parametersOf(this.#cost), nonce: randomBytes(16) }
    return this.#enqueue({ reputation: "known", address: "", name: undefined }, async () =>
      toPhc({ ...parameters, tag: await this.#tagOf(password, parameters, tagLength) }),
    )
  }

  /** No password matches it, and its check takes as long as that of a new hash. */
  dummyHash(): string {
    return dummyHash(this.#cost)
  }

  /** Whether the password matches the stored hash. */
  verify(phc: string, password: string, options: VerifyOptions): Promise<boolean> {
    return this.#enqueue(options, async () => {
      options.begin()
      const known = fromPhc(phc)
      const right = timingSafeEqual(await this.#tagOf(password, known, known.tag.length), known.tag)
      options.end?.(right)
      return right
    })
  }

  async #enqueue<T>(request: HashRequest, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#queue.run(request, work)
    } catch (error) {
      if (!(error instanceof OverloadedError)) throw error
      throw new AuthenticationFailure("unavailable", "Too many people are signing in with a password at once; try again", {
        retryAfterSeconds: 1,
      })
    }
  }

  #tagOf(password: string, hash: Omit<Hash, "tag">, length: number): Promise<Buffer> {
    const { memory, passes, parallelism, nonce } = hash
    return this.#threads.derive({ message: password.normalize("NFC"), nonce, memory, passes, parallelism, tagLength: length })
  }

  /**
   * For the service's stop: a full queue would take up to half a minute, so waiting checks are
   * rejected at once.
   */
  close(): void {
    this.#queue.close(new AuthenticationFailure("unavailable", "The service is stopping", { retryAfterSeconds: 5 }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    await this.#threads.end()
  }
}
