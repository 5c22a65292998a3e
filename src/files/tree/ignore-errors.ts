import { closeDescriptor } from "./directory-handle.ts"

/** For work whose failure makes no difference. */
export function ignoreErrors(work: () => void): void {
  try {
    work()
  } catch {}
}

/** Closes a descriptor that may be closed already. */
export function closeQuietly(fd: number): void {
  ignoreErrors(() => closeDescriptor(fd))
}
