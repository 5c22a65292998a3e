import { closeDescriptor } from "./directory-handle.ts"

/** For work whose failure makes no difference. Returns undefined if it fails. */
export function ignoreErrors<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Closes a descriptor that may be closed already. */
export function closeQuietly(fd: number): void {
  ignoreErrors(() => closeDescriptor(fd))
}
