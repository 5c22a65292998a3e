import { bounds } from "#contract"
import { OwnerQueue } from "#kit"

const { diskThreads, diskThreadsOfPerson, largeFlushesOfPerson } = bounds.files

/** The size of the thread pool: some threads are left for archives. */
export const poolThreads = diskThreads.value + 8

const turns = new OwnerQueue(diskThreads.value, diskThreadsOfPerson.value)
const largeFlushes = new OwnerQueue(diskThreads.value, largeFlushesOfPerson.value)

/** A person's ID, or what else the calls are made for. */
export type TurnOwner = number | string

/**
 * Runs one call that the thread pool makes for a person, and which may wait for the disk or for a
 * lock of the kernel. A thread serves calls in the order of their arrival, so without a bound
 * everybody would wait until one person's calls are over.
 */
export async function withDiskTurn<T>(owner: TurnOwner, call: () => Promise<T>): Promise<T> {
  using _turn = await turns.acquire(String(owner))
  return await call()
}

/** The same for a flush of many bytes, which keeps the disk itself from all others. */
export async function withLargeFlush<T>(owner: TurnOwner, call: () => Promise<T>): Promise<T> {
  using _turn = await largeFlushes.acquire(String(owner))
  return await withDiskTurn(owner, call)
}
