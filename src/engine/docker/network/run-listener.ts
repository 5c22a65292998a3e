import { once } from "node:events"
import { closeSync, openSync, readFileSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { EngineError } from "../../engine.ts"

interface Request {
  /** The container's ID. */
  container: string
  /** The process ID of its init. */
  init: number
  /** 0: a free one. */
  port: number
}

/** A descriptor, or the number of the system's error. */
type Outcome = { descriptor: number } | { errno: number }

/**
 * Listens at a port of a container's own loopback address, from this process. The socket is opened
 * by a thread that enters the container's network for that alone and then ends: a thread's network
 * is its own, and everything else of this process stays where it is.
 */
export async function listenInContainer(request: Request): Promise<Server> {
  const outcome = await openInThread(request)
  if (!("descriptor" in outcome)) throw refusal(request.port, outcome.errno)
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true })
  server.listen({ fd: outcome.descriptor })
  await once(server, "listening")
  return server
}

async function openInThread(request: Request): Promise<Outcome> {
  // The warning would be about `node:ffi`.
  const thread = new Worker(import.meta.filename, {
    workerData: { listen: request },
    trackUnmanagedFds: false,
    execArgv: ["--disable-warning=ExperimentalWarning"],
  })
  try {
    const [outcome] = (await once(thread, "message")) as [Outcome]
    return outcome
  } catch {
    return { errno: 0 }
  }
}

const addressInUse = 98

function refusal(port: number, errno: number): EngineError {
  if (errno === addressInUse) return new EngineError("engine_error", `Port ${port} of the run is in use`)
  return new EngineError("engine_error", "No port can be opened in this run: its network is not visible from the server", {
    detail: `error ${errno}`,
  })
}

const { networkNamespace, internet, streamSocket, socketLevel, reuseAddress } = {
  networkNamespace: 0x4000_0000,
  internet: 2,
  /** Closed in other programs, and never blocking. */
  streamSocket: 1 | 0o2000000 | 0o4000,
  socketLevel: 1,
  reuseAddress: 2,
}
const backlog = 64

/**
 * Runs in a thread of its own, without waiting for anything: a thread that Node starts meanwhile
 * would stay in the container's network.
 */
function openSocket({ container, init, port }: Request): Outcome {
  const { dlopen, getInt32 } = process.getBuiltinModule("node:ffi")
  const { functions } = dlopen(null, {
    setns: { return: "int32", arguments: ["int32", "int32"] },
    socket: { return: "int32", arguments: ["int32", "int32", "int32"] },
    setsockopt: { return: "int32", arguments: ["int32", "int32", "int32", "pointer", "uint32"] },
    bind: { return: "int32", arguments: ["int32", "pointer", "uint32"] },
    listen: { return: "int32", arguments: ["int32", "int32"] },
    __errno_location: { return: "pointer", arguments: [] },
  })
  const failed = (): Outcome => ({ errno: getInt32(functions.__errno_location(), 0) })
  const network = openSync(`/proc/${init}/ns/net`, "r")
  try {
    // The process ID may belong to another container by now.
    if (!readFileSync(`/proc/${init}/cgroup`, "latin1").includes(container)) return { errno: 0 }
    if (functions.setns(network, networkNamespace) !== 0) return failed()
  } finally {
    closeSync(network)
  }
  const descriptor = functions.socket(internet, streamSocket, 0)
  if (descriptor < 0) return failed()
  const on = Buffer.from(new Uint32Array([1]).buffer)
  functions.setsockopt(descriptor, socketLevel, reuseAddress, on, on.length)
  const address = Buffer.alloc(16)
  address.writeUInt16LE(internet, 0)
  address.writeUInt16BE(port, 2)
  address.set([127, 0, 0, 1], 4)
  if (functions.bind(descriptor, address, address.length) === 0 && functions.listen(descriptor, backlog) === 0) return { descriptor }
  const outcome = failed()
  closeSync(descriptor)
  return outcome
}

if (!isMainThread && workerData?.listen) parentPort?.postMessage(openSocket(workerData.listen as Request))
