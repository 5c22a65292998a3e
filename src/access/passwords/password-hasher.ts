import { randomBytes, timingSafeEqual } from "node:crypto"
import { availableParallelism } from "node:os"
import { bounds, Failure } from "#contract"
import { Overloaded } from "#kit"
import { Refusal } from "../caller.ts"
import { isTokenFormat, maxPasswordBytes } from "../credentials/authorization-header.ts"
import { HashQueue, type HashRequest } from "./hash-queue.ts"
import { HashThreads } from "./hash-threads.ts"

/**
 * 35 to 60 ms on one core of a small server, and 33 MiB while it lasts; OWASP asks for at least 19
 * MiB and 2 passes. More than 32 MiB is given back at once; glibc keeps what is smaller for the
 * next hash, which an idle server then holds for ever.
 */
const cost = { memory: 33 * 1024, passes: 2, parallelism: 1 }
const tagLength = 32

interface Hash {
  memory: number
  passes: number
  parallelism: number
  nonce: Buffer
  tag: Buffer
}

/**
 * What nobody's password has, in the cost of a real one: checked for people who do not exist or
 * have no password.
 */
export function dummyHash(): string {
  return toPhc({ ...cost, nonce: randomBytes(16), tag: randomBytes(tagLength) })
}

function toPhc({ memory, passes, parallelism, nonce, tag }: Hash): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${bare(nonce)}$${bare(tag)}`
}

function bare(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "")
}

function fromPhc(text: string): Hash {
  const match = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/.exec(text)
  if (!match) throw new Error("A stored password is no argon2id string of version 19")
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
 * Refuses what cannot be a password: empty, longer than 1,024 bytes, NUL in it, or of the form of a
 * token.
 */
export function checkNewPassword(password: string, field = "Password"): void {
  if (password === "") throw new Failure("invalid", "A password is wanted, got an empty one", { field })
  if (Buffer.byteLength(password) > maxPasswordBytes) {
    throw new Failure("invalid", `A password of at most ${maxPasswordBytes} bytes is wanted, got ${Buffer.byteLength(password)}`, { field })
  }
  if (password.includes("\0")) throw new Failure("invalid", "A password without NUL is wanted", { field })
  if (isTokenFormat(password)) throw new Failure("invalid", "A password that has not the form of a token is wanted", { field })
}

const { waitingHashes, waitingSuspectHashes } = bounds.accounts

export interface PasswordHasherOptions {
  /** Hashes at once, 33 MiB each. Default: one less than there are cores, 1 to 3. */
  maxConcurrent?: number
  /**
   * How many may wait, known devices and addresses that have not failed each, and a tenth of that
   * of the others. Default 1,000.
   */
  maxQueued?: number
}

export interface VerifyOptions extends HashRequest {
  /** Called when its turn has come; may throw. */
  begin: () => void
  /** Called before the next one's turn comes. */
  end?: (right: boolean) => void
}

/**
 * Hashes passwords, few at a time, in threads that make way for others. Rejects with a `Refusal`
 * (503) when too many wait, and when it was closed.
 */
export class PasswordHasher implements AsyncDisposable {
  readonly #threads = new HashThreads()
  readonly #queue: HashQueue

  constructor(options: PasswordHasherOptions = {}) {
    const { maxConcurrent = Math.min(3, Math.max(1, availableParallelism() - 1)), maxQueued } = options
    const each = maxQueued ?? waitingHashes.value
    const suspect = maxQueued === undefined ? waitingSuspectHashes.value : Math.ceil(maxQueued / 10)
    this.#queue = new HashQueue(maxConcurrent, { known: each, clean: each, suspect })
  }

  /** A PHC string with a salt of its own. */
  hash(password: string): Promise<string> {
    const nonce = randomBytes(16)
    return this.#inTurn({ lane: "known", address: "", name: undefined }, async () =>
      toPhc({ ...cost, nonce, tag: await this.#tagOf(password, { ...cost, nonce }, tagLength) }),
    )
  }

  /** Whether the password is the one. */
  verify(phc: string, password: string, options: VerifyOptions): Promise<boolean> {
    return this.#inTurn(options, async () => {
      options.begin()
      const known = fromPhc(phc)
      const right = timingSafeEqual(await this.#tagOf(password, known, known.tag.length), known.tag)
      options.end?.(right)
      return right
    })
  }

  async #inTurn<T>(place: HashRequest, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#queue.run(place, work)
    } catch (error) {
      if (!(error instanceof Overloaded)) throw error
      throw new Refusal("unavailable", "Too many people sign in with user name and password at once; try again", { retryAfterSeconds: 1 })
    }
  }

  #tagOf(password: string, hash: Omit<Hash, "tag">, length: number): Promise<Buffer> {
    const { memory, passes, parallelism, nonce } = hash
    return this.#threads.derive({ message: password.normalize("NFC"), nonce, memory, passes, parallelism, tagLength: length })
  }

  /**
   * For the end of the service: a queue takes up to half a minute, and who waits is better told at
   * once.
   */
  close(): void {
    this.#queue.close(new Refusal("unavailable", "The service stops", { retryAfterSeconds: 5 }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    await this.#threads.end()
  }
}
