import { bounds } from "#contract"
import { OwnerQueue } from "#kit"

const { diskThreads, diskThreadsOfPerson, largeFlushesOfPerson } = bounds.files

/** The size of the thread pool: some threads are left for archives and removals. */
export const poolThreads = diskThreads.value + 8

const turns = new OwnerQueue(diskThreads.value, diskThreadsOfPerson.value)
const largeFlushes = new OwnerQueue(diskThreads.value, largeFlushesOfPerson.value)

/**
 * Runs one call that the thread pool makes for a person, and which may wait for the disk. A thread
 * serves calls in the order of their arrival, so without a bound everybody would wait until the
 * calls for one person's uploads and downloads are over.
 */
export async function withDiskTurn<T>(userId: number, call: () => Promise<T>): Promise<T> {
  using _turn = await turns.acquire(String(userId))
  return await call()
}

/** The same for a flush of many bytes, which keeps the disk itself from all others. */
export async function withLargeFlush<T>(userId: number, call: () => Promise<T>): Promise<T> {
  using _turn = await largeFlushes.acquire(String(userId))
  return await withDiskTurn(userId, call)
}
