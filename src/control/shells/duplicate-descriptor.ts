import { once } from "node:events"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"

interface Request {
  processId: number
  descriptor: number
}

/**
 * A copy of another process's descriptor, for this process. Undefined if the kernel refuses it. A
 * thread does this alone, so that `node:ffi` and its warning stay out of the main one.
 */
export async function duplicateDescriptor(request: Request): Promise<number | undefined> {
  const thread = new Worker(import.meta.filename, {
    workerData: { duplicate: request },
    trackUnmanagedFds: false,
    execArgv: ["--disable-warning=ExperimentalWarning"],
  })
  const [descriptor] = (await once(thread, "message").catch(() => [-1])) as [number]
  return descriptor >= 0 ? descriptor : undefined
}

/** The same numbers on all of Linux's architectures. */
const calls = { pidfdOpen: 434n, pidfdGetfd: 438n }

function duplicate({ processId, descriptor }: Request): number {
  const { dlopen } = process.getBuiltinModule("node:ffi")
  const { functions } = dlopen(null, {
    syscall: { return: "int64", arguments: ["int64", "int64", "int64", "int64"] },
    close: { return: "int32", arguments: ["int32"] },
  })
  const other = functions.syscall(calls.pidfdOpen, BigInt(processId), 0n, 0n)
  if (other < 0n) return -1
  const copy = Number(functions.syscall(calls.pidfdGetfd, other, BigInt(descriptor), 0n))
  functions.close(Number(other))
  return copy
}

if (!isMainThread && workerData?.duplicate) parentPort?.postMessage(duplicate(workerData.duplicate as Request))
