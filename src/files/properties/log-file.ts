import { close, fdatasync, fstatSync, ftruncate, read, writeFile } from "node:fs"
import { StringDecoder } from "node:string_decoder"
import { promisify } from "node:util"
import { withDiskTurn } from "../requests/disk-turns.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"
import type { PropertyChange } from "./property-table.ts"

const closeFile = promisify(close)
const flushFile = promisify(fdatasync)
const truncateFile = promisify(ftruncate)
const readBytes = promisify(read)
const writeBytes = promisify(writeFile)

const readChunkBytes = 65_536
/** The owner of the turns of all calls on logs of properties. */
export const logTurns = "properties"

/**
 * An open log of changes of properties. The thread pool makes all calls: programs that write
 * gigabytes can keep the disk busy for seconds.
 */
export class LogFile implements AsyncDisposable {
  readonly fd: number
  /** Bytes of all changes. */
  size: number
  /** More bytes follow: a part of a change that failed. */
  #isTorn = false

  private constructor(fd: number) {
    this.fd = fd
    this.size = fstatSync(fd).size
  }

  static async open(directory: TreeDirectory, name: string, flags: number): Promise<LogFile> {
    return new LogFile(await directory.open(name, flags, 0o600))
  }

  /** Writes all or nothing; the kernel alone would write the part that fits. */
  async append(content: string | Buffer): Promise<void> {
    const bytes = Buffer.from(content)
    if (this.#isTorn) await this.#removeTornEnd()
    this.#isTorn = true
    try {
      await withDiskTurn(logTurns, () => writeBytes(this.fd, bytes))
    } catch (error) {
      // If this fails, the next change has to do it.
      await this.#removeTornEnd().catch(() => {})
      throw error
    }
    this.#isTorn = false
    this.size += bytes.length
  }

  async #removeTornEnd(): Promise<void> {
    await withDiskTurn(logTurns, () => truncateFile(this.fd, this.size))
    this.#isTorn = false
  }

  /** At most some of the bytes between these positions; none at the end of the file. */
  async read(start: number, end: number): Promise<Buffer> {
    const piece = Buffer.allocUnsafe(Math.min(readChunkBytes, end - start))
    const { bytesRead } = await withDiskTurn(logTurns, () => readBytes(this.fd, piece, 0, piece.length, start))
    return piece.subarray(0, bytesRead)
  }

  /** The changes in the first bytes of the log, some at a time. */
  async *changes(end: number): AsyncGenerator<PropertyChange[]> {
    const decoder = new StringDecoder("utf8")
    let rest = ""
    for (let at = 0; at < end; ) {
      const piece = await this.read(at, end)
      if (piece.length === 0) break
      at += piece.length
      const lines = (rest + decoder.write(piece)).split("\n")
      rest = lines.pop() ?? ""
      yield lines.flatMap(parse)
    }
    yield parse(rest)
  }

  async flush(): Promise<void> {
    await withDiskTurn(logTurns, () => flushFile(this.fd))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeFile(this.fd)
  }
}

function parse(line: string): [PropertyChange] | [] {
  try {
    return line === "" ? [] : [JSON.parse(line) as PropertyChange]
  } catch {
    return []
  }
}
