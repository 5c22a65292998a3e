import { accountNameError, bounds } from "#contract"
import { type Clock, networkOf } from "#kit"
import { AuthenticationFailure } from "../caller.ts"
import { TwoGenerationCache } from "../two-generation-cache.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const { wrongPerNameAndAddress, wrongPerAddress, wrongPerNameFree, wrongPerNameStepMs, wrongPerNameMaxMs } = bounds.accounts
const { countedNames, knownDeviceDays, knownDevices } = bounds.accounts
const perPair = wrongPerNameAndAddress.value
const perAddress = wrongPerAddress.value
/**
 * Failures of a name within an hour before it is slowed, the delay that each further one adds, and
 * the longest delay.
 */
const slow = { free: wrongPerNameFree.value, step: wrongPerNameStepMs.value, most: wrongPerNameMaxMs.value }

/** One attempt to sign in, as the throttle sees it. */
export interface SignInAttempt {
  /** The name, or one shared value for all invalid names. */
  readonly name: string
  readonly address: string
  /**
   * Whether this name signed in from this address before: failures of strangers elsewhere do not
   * slow it.
   */
  readonly isKnown: boolean
  /** Whether this address had a recent failure, with any name. */
  readonly isSuspect: boolean
  /** The delay before the check, in milliseconds. */
  readonly delayMs: number
  /** Throws an `AuthenticationFailure` (429) after too many wrong passwords. */
  assertAllowed(): void
  recordFailure(): void
  recordSuccess(): void
}

interface Hourly {
  hour: number
  now: number
  before: number
}

/** Tells other processes of the outcome of an attempt, and learns of theirs. */
export interface SharedAttempts {
  tell(outcome: AttemptOutcome): void
  on(listener: (outcome: AttemptOutcome) => void): void
}
export interface AttemptOutcome {
  name: string
  address: string
  isRight: boolean
}

/** Counts wrong passwords: by name and address, by address, and by name. Its memory is bounded. */
export class PasswordThrottle {
  readonly #clock: Clock
  readonly #pairs = new TwoGenerationCache<number[]>(countedNames.value)
  readonly #addresses = new TwoGenerationCache<number[]>(countedNames.value)
  readonly #names = new TwoGenerationCache<Hourly>(countedNames.value)
  /**
   * When each name last signed in from each address, the latest last. Only right passwords add
   * entries, and those of one name evict no others', so nobody makes strangers of other people.
   */
  readonly #known = new TwoGenerationCache<Map<string, number>>(countedNames.value)

  readonly #shared: SharedAttempts | undefined

  constructor(clock: Clock, shared?: SharedAttempts) {
    this.#clock = clock
    this.#shared = shared
    shared?.on((outcome) => this.#record(outcome))
  }

  startAttempt(userName: string, address: string): SignInAttempt {
    // All invalid names count as one name, which bounds the memory.
    const name = accountNameError(userName) === undefined ? userName : ""
    const from = networkOf(address)
    const pair = `${name} ${from}`
    const isKnown = this.#isKnown(name, from)
    return {
      name,
      address: from,
      isKnown,
      isSuspect: recent(this.#addresses.get(from), this.#clock.now()).length > 0,
      delayMs: isKnown ? 0 : this.#delay(name),
      assertAllowed: () => {
        this.#check(this.#pairs.get(pair), perPair)
        if (!this.#isBlamelessDevice(name, from)) this.#check(this.#addresses.get(from), perAddress)
      },
      recordFailure: () => this.#recordOwn({ name, address: from, isRight: false }),
      recordSuccess: () => this.#recordOwn({ name, address: from, isRight: true }),
    }
  }

  #recordOwn(outcome: AttemptOutcome): void {
    this.#record(outcome)
    this.#shared?.tell(outcome)
  }

  #record({ name, address, isRight }: AttemptOutcome): void {
    const pair = `${name} ${address}`
    if (isRight) {
      this.#pairs.delete(pair)
      this.#rememberDevice(name, address)
      return
    }
    this.#note(this.#pairs, pair, perPair)
    this.#note(this.#addresses, address, perAddress)
    this.#noteName(name)
  }

  /**
   * Whether an attempt with this valid name would be rejected now. Cheap while nobody has failed.
   */
  isBlocked(userName: string, address: string): boolean {
    if (this.#addresses.size === 0) return false
    const from = networkOf(address)
    const pair = `${userName} ${from}`
    if (this.#over(this.#pairs.get(pair), perPair) !== undefined) return true
    return !this.#isBlamelessDevice(userName, from) && this.#over(this.#addresses.get(from), perAddress) !== undefined
  }

  /**
   * Whether a name signed in from this address before and did not fail there in the last minute.
   * Many people may share an address: one of them must not lock out all others.
   */
  #isBlamelessDevice(name: string, address: string): boolean {
    return this.#isKnown(name, address) && recent(this.#pairs.get(`${name} ${address}`), this.#clock.now()).length === 0
  }

  #rememberDevice(name: string, address: string): void {
    const devices = this.#known.get(name) ?? new Map<string, number>()
    devices.delete(address)
    devices.set(address, this.#clock.now())
    const [oldest] = devices.keys()
    if (devices.size > knownDevices.value && oldest !== undefined) devices.delete(oldest)
    this.#known.set(name, devices)
  }

  #isKnown(name: string, address: string): boolean {
    const signedInAt = this.#known.get(name)?.get(address)
    return signedInAt !== undefined && signedInAt > this.#clock.now() - knownDeviceDays.value * day
  }

  #check(failures: readonly number[] | undefined, most: number): void {
    const until = this.#over(failures, most)
    if (until === undefined) return
    const seconds = Math.max(1, Math.ceil((until - this.#clock.now()) / 1000))
    throw new AuthenticationFailure(
      "too_many_requests",
      `Too many wrong passwords for this user name or from this address; the next try is in ${seconds} s`,
      { retryAfterSeconds: seconds },
    )
  }

  /** When another attempt is allowed; undefined: now. */
  #over(failures: readonly number[] | undefined, most: number): number | undefined {
    const counted = recent(failures, this.#clock.now())
    const [oldest] = counted.slice(-most)
    return counted.length < most || oldest === undefined ? undefined : oldest + minute
  }

  #note(counts: TwoGenerationCache<number[]>, key: string, most: number): void {
    const now = this.#clock.now()
    counts.set(key, [...recent(counts.get(key), now), now].slice(-most))
  }

  /**
   * Estimates the last hour: the current hour's count plus the overlapping share of the previous
   * hour's.
   */
  #delay(name: string): number {
    const now = this.#clock.now()
    const { now: running, before } = turned(this.#names.get(name), now)
    const failures = running + before * (1 - (now % hour) / hour)
    return Math.round(Math.min(slow.most, Math.max(0, failures - slow.free) * slow.step))
  }

  #noteName(name: string): void {
    const counted = turned(this.#names.get(name), this.#clock.now())
    this.#names.set(name, { ...counted, now: counted.now + 1 })
  }
}

function recent(failures: readonly number[] | undefined, now: number): readonly number[] {
  // A clock that was set back must not lock anybody out: failures in the future do not count.
  return failures?.filter((at) => at > now - minute && at <= now) ?? []
}

function turned(counted: Hourly | undefined, now: number): Hourly {
  const current = Math.floor(now / hour)
  if (counted?.hour === current) return counted
  return { hour: current, now: 0, before: counted?.hour === current - 1 ? counted.now : 0 }
}
