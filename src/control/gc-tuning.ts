import { setFlagsFromString } from "node:v8"

/**
 * New objects are collected when a fifth of their space is used, and all objects only when the heap
 * is three times as large.
 */
const bulkFlags = ["--minor-gc-task-trigger=20", "--heap-growing-percent=200"]
const usualFlags = ["--minor-gc-task-trigger=80", "--heap-growing-percent=0"]
let holders = 0

/**
 * Has V8 collect new objects often and old ones seldom, until the disposal. Every 64 KiB that a
 * socket receives are new memory outside the heap, held by a few small objects. V8 looked for those
 * in the whole heap whenever 64 MiB had come together, which took half of the processor time of a
 * copy (`script/bench control`). While they are new, they are found in a millisecond.
 */
export function tuneGarbageCollection(): Disposable {
  holders += 1
  if (holders === 1) for (const flag of bulkFlags) setFlagsFromString(flag)
  return {
    [Symbol.dispose]() {
      holders -= 1
      if (holders === 0) for (const flag of usualFlags) setFlagsFromString(flag)
    },
  }
}
