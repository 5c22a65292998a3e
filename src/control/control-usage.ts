import { StreamError } from "#channel"
import { bounds, Failure } from "#contract"
import { Semaphore } from "#kit"
import { tuneGarbageCollection } from "./gc-tuning.ts"

const {
  connections,
  copies,
  engineCalls,
  explanations,
  listeners,
  shells,
  streamsPerPerson,
  wideWindowBytes,
  wideWindowBytesPerPerson,
  windowBytes,
} = bounds.control
const explanationPeriodMs = 60_000
const extraBytes = wideWindowBytes.value - windowBytes.value

/** The use that one person makes of the control channel, over all connections. */
export class ControlUsage {
  #connections = 0
  #streams = 0
  #shells = 0
  #copies = 0
  #listeners = 0
  #wideBytes = 0
  #explanations = { count: 0, until: 0 }
  /** Questions about addresses, of which further ones wait. */
  readonly engineCalls = new Semaphore(engineCalls.value)
  /** Listening begins in a thread, of which each delays everybody for milliseconds. */
  readonly listenerStarts = new Semaphore(1)

  /** A person who reconnects gets no further explanations. */
  get isUnused(): boolean {
    const isOpen = this.#connections > 0 || this.#streams > 0 || this.#shells > 0
    return !isOpen && performance.now() >= this.#explanations.until
  }

  /** Throws a 429 if the person has too many. The disposal frees it. */
  addConnection(): Disposable {
    if (this.#connections >= connections.value) {
      throw new Failure("too_many_requests", `At most ${connections.value} control connections of one person may be open`)
    }
    this.#connections += 1
    return onDispose(() => (this.#connections -= 1))
  }

  addStream(): Disposable {
    if (this.#streams >= streamsPerPerson.value) {
      throw new StreamError("too_many_streams", `At most ${streamsPerPerson.value} streams of one person may be open`)
    }
    this.#streams += 1
    return onDispose(() => (this.#streams -= 1))
  }

  addShell(): Disposable {
    if (this.#shells >= shells.value) throw new StreamError("too_many_streams", `At most ${shells.value} shells of one person may be open`)
    this.#shells += 1
    return onDispose(() => (this.#shells -= 1))
  }

  addCopy(): Disposable {
    if (this.#copies >= copies.value) throw new StreamError("too_many_streams", `At most ${copies.value} copies of one person may run`)
    this.#copies += 1
    return onDispose(() => (this.#copies -= 1))
  }

  addListener(): Disposable {
    if (this.#listeners >= listeners.value)
      throw new StreamError("too_many_streams", `At most ${listeners.value} ports of one person's clients may be open to runs`)
    this.#listeners += 1
    return onDispose(() => (this.#listeners -= 1))
  }

  /** Whether the reason of a refused connection may be looked up, which takes milliseconds. */
  consumeExplanation(): boolean {
    const now = performance.now()
    if (now >= this.#explanations.until) this.#explanations = { count: 0, until: now + explanationPeriodMs }
    this.#explanations.count += 1
    return this.#explanations.count <= explanations.value
  }

  /** Undefined if the person's share of memory is used up. */
  addWideWindow(): Disposable | undefined {
    if (this.#wideBytes + extraBytes > wideWindowBytesPerPerson.value) return undefined
    this.#wideBytes += extraBytes
    const collection = tuneGarbageCollection()
    return onDispose(() => {
      this.#wideBytes -= extraBytes
      collection[Symbol.dispose]()
    })
  }
}

/** The usage of all people who have a connection or a shell, or had one a minute ago. */
export class ControlUsageByPerson {
  readonly #people = new Map<number, ControlUsage>()

  of(userId: number): ControlUsage {
    for (const [id, usage] of this.#people) if (usage.isUnused) this.#people.delete(id)
    const usage = this.#people.get(userId) ?? new ControlUsage()
    this.#people.set(userId, usage)
    return usage
  }
}

function onDispose(free: () => void): Disposable {
  let isFree = false
  return {
    [Symbol.dispose]() {
      if (!isFree) free()
      isFree = true
    },
  }
}
