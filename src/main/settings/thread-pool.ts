import { bounds } from "#contract"

/** For all other calls, while each start that may look up directories waits in the kernel. */
const otherThreads = 8

/**
 * Sets the size of libuv's thread pool, unless an administrator did. It has no effect once a call
 * has used the pool.
 */
export function setThreadPoolSize(): void {
  process.env.UV_THREADPOOL_SIZE ||= String(bounds.containers.mountPins.value + otherThreads)
}
