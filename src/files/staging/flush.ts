import { fdatasync, fstatSync } from "node:fs"
import { promisify } from "node:util"
import { type TurnOwner, withDiskTurn, withLargeFlush } from "../requests/disk-turns.ts"

const flushFile = promisify(fdatasync)
/** Less than this hardly costs more than the flush of an empty file. */
const largeBytes = 65_536

/** Flushes a file, so that its content survives a power cut. */
export function flush(fd: number, owner: TurnOwner): Promise<void> {
  const inTurn = fstatSync(fd).size > largeBytes ? withLargeFlush : withDiskTurn
  return inTurn(owner, () => flushFile(fd))
}
