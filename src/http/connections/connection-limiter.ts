import type { IncomingMessage, ServerResponse } from "node:http"
import type { Server, Socket } from "node:net"
import { bounds, Failure } from "#contract"
import { networkOf, RankedGroups, unmapIPv4 } from "#kit"
import type { TrustedProxies } from "../requests/trusted-proxies.ts"
import type { ConnectionLimits } from "./connection-limits.ts"
import { CostlyReads, type PausableConnection } from "./costly-reads.ts"
import { hasPendingRequest } from "./pipelining.ts"
import { RequestTurns } from "./request-turns.ts"

/**
 * Beyond `maxAnonymous`, the address that has most connections loses its oldest, and beyond
 * `maxPerAddress` this one does. Beyond `maxAuthenticated`, the person who has most loses one.
 * Beyond `maxPerPerson`, a person loses their oldest idle one; if none is idle, the new one is
 * refused.
 */
export interface ConnectionLimiterOptions extends ConnectionLimits {
  /**
   * Trusted proxies: the address that they forward counts, for as long as its request lasts.
   */
  proxies: TrustedProxies
  /**
   * The client of a request that another process of this installation passed on. Its address
   * counts, too.
   */
  relayedAddress?: ((request: IncomingMessage) => string | undefined) | undefined
  /**
   * Called when a connection could not be accepted, or one was closed for another; at most once a
   * minute for each of the two.
   */
  onFull?: (what: "accept" | "close", error?: Error) => void
}

type Person = number | string
type Budget = RankedGroups<Person, Connection>

const entry = Symbol("connection limit")
type WatchedSocket = Socket & { [entry]?: Connection | undefined }

const reportEveryMs = 60_000
const maxWaitingRequests = bounds.http.waitingRequests.value

/**
 * Bounds the connections of all servers of one process. An anonymous connection counts for its
 * address. New ones are accepted, and the address with most of them loses its oldest, so no crowd
 * can lock others out. An authenticated connection counts for its person, in a second budget.
 */
export class ConnectionLimiter {
  readonly options: ConnectionLimiterOptions
  readonly anonymous: Budget = new RankedGroups()
  readonly authenticated: Budget = new RankedGroups()
  readonly costlyReads = new CostlyReads<Person>()
  readonly requestTurns = new RequestTurns()
  /** The requests that wait behind others on the connections of each person or address. */
  readonly waitingRequests = new Map<Person, number>()
  readonly #reported = new Map<"accept" | "close", number>()

  constructor(options: ConnectionLimiterOptions) {
    this.options = options
  }

  /**
   * Counts every connection of the server. A server that cannot accept at the moment, for lack of
   * descriptors, continues.
   */
  watch(server: Server): void {
    server.on("connection", (socket: WatchedSocket) => {
      const address = unmapIPv4(socket.remoteAddress ?? "")
      socket[entry] = new Connection(this, socket, this.options.proxies.trusts(address) ? { proxy: address } : { address })
    })
    server.on("error", (error) => {
      if (server.listening) this.report("accept", error)
    })
  }

  /** Makes room for one more anonymous connection of this address. */
  makeRoomForAddress(address: Person, isProxy: boolean): void {
    const { anonymous, options } = this
    if (!isProxy && anonymous.sizeOf(address) >= options.maxPerAddress) this.#close(first(anonymous.membersOf(address)))
    else if (anonymous.size >= options.maxAnonymous) this.#close(first(anonymous.membersOf(anonymous.largestKey ?? address)))
  }

  /**
   * Makes room for one more connection of the person, and closes another one if necessary. False if
   * there is none to close.
   */
  makeRoomForPerson(person: Person): boolean {
    const { authenticated, options } = this
    const own = authenticated.sizeOf(person)
    if (own < options.maxPerPerson && authenticated.size < options.maxAuthenticated) return true
    const largest = authenticated.largestKey ?? person
    const isOwnFault = own >= options.maxPerPerson || authenticated.sizeOf(largest) <= own
    const members = authenticated.membersOf(isOwnFault ? person : largest)
    const victim = firstIdle(members) ?? (isOwnFault ? undefined : first(members))
    this.#close(victim)
    return victim !== undefined
  }

  #close(connection: Connection | undefined): void {
    if (!connection) return
    this.report("close")
    connection.end()
  }

  /** Counts requests that wait, or no longer do. False: the person or address has too many. */
  addWaiting(key: Person, change: number): boolean {
    const waiting = (this.waitingRequests.get(key) ?? 0) + change
    if (waiting === 0) this.waitingRequests.delete(key)
    else this.waitingRequests.set(key, waiting)
    return waiting <= maxWaitingRequests
  }

  report(what: "accept" | "close", error?: Error): void {
    const now = performance.now()
    if (now - (this.#reported.get(what) ?? Number.NEGATIVE_INFINITY) < reportEveryMs) return
    this.#reported.set(what, now)
    this.options.onFull?.(what, error)
  }
}

/** One connection, in one of the two budgets until it is closed. */
class Connection implements PausableConnection {
  /** Whether an event stream or another protocol uses it until it closes. */
  isInUse = false
  readonly isProxied: boolean
  readonly #limit: ConnectionLimiter
  readonly #socket: WatchedSocket
  /** The address that it counts for while it is anonymous and no request is pending. */
  readonly #ownAddress: string
  #budget: Budget | undefined
  #key: Person = ""
  #waiting = 0

  constructor(limit: ConnectionLimiter, socket: WatchedSocket, from: { address: string } | { proxy: string }) {
    this.#limit = limit
    this.#socket = socket
    this.isProxied = "proxy" in from
    this.#ownAddress = "proxy" in from ? `proxy ${from.proxy}` : networkOf(from.address)
    this.#countFor(this.#ownAddress, this.isProxied)
    this.watchClose()
  }

  get isIdle(): boolean {
    return !this.isInUse && !hasPendingRequest(this.#socket)
  }

  /** Callers that remove all listeners of the socket call it again. */
  watchClose(): void {
    this.#socket.off("close", this.#onClose)
    this.#socket.on("close", this.#onClose)
  }

  readonly #onClose = (): void => {
    if (this.#socket.destroyed) this.#leave()
  }

  /** A proxy's connection counts for the client of its request until that is answered. */
  begin(request: IncomingMessage, response: ServerResponse | undefined): void {
    const { proxies, relayedAddress } = this.#limit.options
    const client = relayedAddress?.(request) ?? (this.isProxied ? proxies.clientAddress(request) : undefined)
    if (client === undefined) return
    this.#countFor(networkOf(client), false)
    response?.once("close", () => {
      if (!this.isInUse && !this.#socket.destroyed) this.#countFor(this.#ownAddress, this.isProxied)
    })
  }

  runInTurn(handle: () => void, personOf?: () => Person | undefined): void {
    this.#limit.requestTurns.run(this.#key, handle, personOf)
  }

  mayWait(count: number): boolean {
    const change = count - this.#waiting
    this.#waiting = count
    return this.#limit.addWaiting(this.#key, change)
  }

  assign(person: Person): boolean {
    const { authenticated } = this.#limit
    if (this.#budget === authenticated && this.#key === person) return true
    if (this.#socket.destroyed) return true
    if (!this.#limit.makeRoomForPerson(person)) return false
    this.#move(authenticated, person)
    return true
  }

  /**
   * The others of its person, and those of its address, whose credentials have not been read. A
   * proxy's serve other people.
   */
  pauseOthers(): void {
    if (this.#budget && this.#key !== this.#ownAddress) this.#pauseOthersOf(this.#budget, this.#key)
    if (!this.isProxied) this.#pauseOthersOf(this.#limit.anonymous, this.#ownAddress)
  }

  #pauseOthersOf(budget: Budget, key: Person): void {
    const others = ([...budget.membersOf(key)] as Connection[]).filter((each) => each !== this && each.#mayPause)
    this.#limit.costlyReads.pause(key, others)
  }

  /** Node has paused one whose body nobody reads: it would read on when this pause ends. */
  get #mayPause(): boolean {
    return !this.isInUse && !this.#socket.isPaused()
  }

  pauseReading(): void {
    this.#socket.pause()
  }

  resumeReading(): void {
    if (!this.#socket.destroyed) this.#socket.resume()
  }

  end(): void {
    this.#leave()
    this.#socket.destroy()
  }

  #countFor(address: string, isProxy: boolean): void {
    const { anonymous } = this.#limit
    if (this.#budget === anonymous && this.#key === address) return
    this.#leave()
    this.#limit.makeRoomForAddress(address, isProxy)
    this.#move(anonymous, address)
  }

  #move(budget: Budget, key: Person): void {
    const waiting = this.#waiting
    this.#leave()
    budget.add(key, this)
    this.#budget = budget
    this.#key = key
    if (!this.mayWait(waiting)) this.#socket.destroy()
  }

  #leave(): void {
    this.mayWait(0)
    this.#budget?.remove(this.#key, this)
    this.#budget = undefined
  }
}

/** Counts a proxy's connection for the client of this request. Called as each request begins. */
export function attributeRequest(request: IncomingMessage, response?: ServerResponse): void {
  ;(request.socket as WatchedSocket)[entry]?.begin(request, response)
}

/**
 * Calls the function, in a later turn of the event loop if the person or address that the
 * connection counts for, and the request's own person, have had their share of this one.
 */
export function runInTurn(socket: Socket, handle: () => void, personOf?: () => Person | undefined): void {
  const connection = (socket as WatchedSocket)[entry]
  if (connection) connection.runInTurn(handle, personOf)
  else handle()
}

/**
 * Counts the requests that wait behind another one on the connection. False: the person or address
 * that it counts for has too many.
 */
export function mayWait(socket: Socket, count: number): boolean {
  return (socket as WatchedSocket)[entry]?.mayWait(count) ?? true
}

/**
 * Counts the connection for the person who was authenticated on it. False: they have too many.
 */
export function assignConnection(socket: Socket, person: Person): boolean {
  return (socket as WatchedSocket)[entry]?.assign(person) ?? true
}

/**
 * Called within a read of the connection that costs as much as many: the others of its person or
 * address read in later turns.
 */
export function reportCostlyRead(socket: Socket): void {
  ;(socket as WatchedSocket)[entry]?.pauseOthers()
}

/** The refusal when `assignConnection` returns false. */
export function tooManyConnections(): Failure {
  return new Failure("too_many_requests", "All connections that one person may have are in use; close some and try again", {
    headers: { "Retry-After": "2", Connection: "close" },
  })
}

/**
 * Counts the connection as in use until it closes, after its request was answered and the socket's
 * listeners were removed.
 */
export function markConnectionInUse(socket: Socket): void {
  const connection = (socket as WatchedSocket)[entry]
  if (!connection) return
  connection.isInUse = true
  connection.watchClose()
}

function first(connections: Iterable<Connection>): Connection | undefined {
  for (const connection of connections) return connection
  return undefined
}

function firstIdle(connections: Iterable<Connection>): Connection | undefined {
  for (const connection of connections) if (connection.isIdle) return connection
  return undefined
}
