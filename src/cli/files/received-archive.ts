import { createHash } from "node:crypto"
import { archiveRoot, readFirstFile, StreamError, TarCheck } from "#channel"
import type { Cli } from "../io/cli.ts"
import { unpackByTar } from "./local-tar.ts"
import { type Unpacker, unpackFile } from "./unpack-file.ts"

export interface ArchiveTarget {
  /** The path in the run. */
  path: string
  /** Here, and empty. */
  directory: string
}

/** An archive that comes from a run, and is checked and unpacked here. */
export class ReceivedArchive {
  readonly #cli: Cli
  readonly #target: ArchiveTarget
  readonly #check = new TarCheck()
  readonly #hash = createHash("sha256")
  #unpacker: Unpacker | undefined
  #isFile = false
  bytes = 0

  constructor(cli: Cli, target: ArchiveTarget) {
    this.#cli = cli
    this.#target = target
  }

  /** Whether it holds one file. */
  get isFile(): boolean {
    return this.#isFile
  }

  /** SHA-256 of all that was written, in hexadecimal. Not for a file. */
  get checksum(): string {
    return this.#hash.copy().digest("hex")
  }

  async write(data: Uint8Array): Promise<void> {
    this.#check.check(data)
    this.#unpacker ??= this.#choose(data)
    if (!this.#isFile) this.#hash.update(data)
    this.bytes += data.length
    await this.#unpacker.write(data)
  }

  /**
   * Throws as for a lost connection if its end has not come, so that the copy goes on. On a busy
   * machine output came short although `tar` had succeeded.
   */
  async end(): Promise<void> {
    if (!this.#check.isComplete) throw new StreamError("connection_lost", "The end of the archive was lost")
    await this.#unpacker?.end()
  }

  /** Nothing is written any more when this resolves. */
  async abort(): Promise<void> {
    await this.#unpacker?.abort()
  }

  #choose(first: Uint8Array): Unpacker {
    const { directory, path } = this.#target
    const file = readFirstFile(first)
    this.#isFile = file?.name === archiveRoot(path).name
    return file && this.#isFile ? unpackFile(directory, file) : unpackByTar(this.#cli, directory)
  }
}
