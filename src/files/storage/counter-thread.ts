import { setPriority } from "node:os"
import { setImmediate as turn } from "node:timers/promises"
import { parentPort, workerData } from "node:worker_threads"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { type LabelOptions, QuotaProjectLabels } from "./quota-project-labels.ts"
import { StorageScan } from "./scan.ts"
import type { StorageAccount, StorageCount, StorageSettings } from "./storage.ts"
import type { TrashPart } from "./trash-parts.ts"

/*
 * The thread that counts and labels stored files. It shares the worker's rights and descriptors,
 * and runs at the lowest priority. Counts alternate in short slices, so a person with millions of
 * files delays nobody else.
 */

export interface CountRequest {
  id: number
  account: StorageAccount
  /** The account's directories in the trash. */
  trash: readonly TrashPart[]
  /** Undefined: no entry is labelled. */
  labels: LabelOptions | undefined
  /** Milliseconds of its own time. */
  maxMs: number
  /** Whether it ends, incomplete, as soon as one of its calls waited. */
  endsWhenHeld: boolean
}
export interface CountReply {
  id: number
  count: StorageCount
  /** One of its calls waited. */
  isHeld: boolean
  /** It ended for that. */
  isCutOff: boolean
}
export interface CounterData {
  rootFd: number
  settings: StorageSettings
}

const sliceMs = 5
/** In a slice that takes so long, the kernel let a call wait for a program. */
const heldMs = 250
const lowestPriority = 19
/** Concurrent counts; each needs several open descriptors. */
const maxRunning = 32

interface Running {
  id: number
  scan: StorageScan
  steps: Generator<void>
  maxMs: number
  endsWhenHeld: boolean
  spentMs: number
  isHeld: boolean
}

const { rootFd, settings } = workerData as CounterData
const port = parentPort
if (!port) throw new Error("This module runs only as a thread of the file server")
const root = DirectoryHandle.fromDescriptor(rootFd)
const running: Running[] = []
const waiting: CountRequest[] = []
let isWorking = false

// Linux applies this to the calling thread only.
setPriority(lowestPriority)

port.on("message", (request: CountRequest) => {
  waiting.push(request)
  if (!isWorking) work().catch(fail)
})

function begin({ id, account, trash, labels, maxMs, endsWhenHeld }: CountRequest): void {
  const scan = new StorageScan(root, account, settings, { labels: labels && new QuotaProjectLabels(labels), trash })
  running.push({ id, scan, steps: scan.steps(), maxMs, endsWhenHeld, spentMs: 0, isHeld: false })
}

async function work(): Promise<void> {
  isWorking = true
  for (let next = nextOne(); next; next = nextOne()) {
    const isOver = runSlice(next)
    if (!isOver && !next.isHeld && next.spentMs < next.maxMs) running.push(next)
    else end(next, isOver)
    await turn()
  }
  isWorking = false
}

function nextOne(): Running | undefined {
  while (running.length < maxRunning) {
    const request = waiting.shift()
    if (!request) break
    begin(request)
  }
  return running.shift()
}

/** True when the count is complete. */
function runSlice(one: Running): boolean {
  const began = performance.now()
  const until = began + sliceMs
  let isOver = false
  while (!isOver && performance.now() < until) isOver = one.steps.next().done === true
  const tookMs = performance.now() - began
  one.spentMs += tookMs
  one.isHeld = one.endsWhenHeld && tookMs > heldMs
  return isOver
}

function end({ id, scan, steps, spentMs, isHeld }: Running, isOver: boolean): void {
  steps.return(undefined)
  const reply: CountReply = { id, count: scan.result(spentMs, isOver), isHeld, isCutOff: isHeld && !isOver }
  port?.postMessage(reply)
}

function fail(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
