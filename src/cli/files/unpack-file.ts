import { createWriteStream } from "node:fs"
import { utimes } from "node:fs/promises"
import { join } from "node:path"
import type { Writable } from "node:stream"
import { finished } from "node:stream/promises"
import { type TarFile, tarBlockBytes } from "#channel"
import { CliError } from "../io/failures.ts"

/** Receives a checked archive. */
export interface Unpacker {
  /** Resolves when more may be written. */
  write(data: Uint8Array): Promise<void>
  /** Resolves when everything is unpacked. */
  end(): Promise<void>
  /** Nothing is written any more when this resolves. */
  abort(): Promise<void>
}

/** Written at once: the bytes that come are short chunks. */
const writeBytes = 1024 * 1024

/**
 * Resolves when more may be written, or nothing any more. No race with the program's end: each
 * would take memory until then.
 */
export function drained(input: Writable): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      input.off("drain", over).off("close", over)
      resolve()
    }
    if (input.destroyed) resolve()
    else input.on("drain", over).on("close", over)
  })
}

/**
 * Unpacks an archive that holds one file. A `tar` of its own would copy every byte twice more.
 * Nothing but that file is written, whatever follows it in the archive.
 */
export function unpackFile(directory: string, { name, size, mode, modifiedAt }: TarFile): Unpacker {
  const path = join(directory, name)
  const file = createWriteStream(path, { flags: "wx", mode, highWaterMark: writeBytes })
  const ended = finished(file)
  ended.catch(() => {})
  let [header, rest] = [tarBlockBytes, size]
  return {
    async write(data) {
      const from = Math.min(header, data.length)
      const content = data.subarray(from, from + rest)
      header -= from
      rest -= content.length
      if (data.subarray(from + content.length).some((byte) => byte !== 0))
        throw new CliError(`The run sent more than ${JSON.stringify(name)}; nothing was copied.`)
      if (content.length > 0 && !file.write(content)) await drained(file)
      if (file.destroyed) await ended
    },
    async end() {
      file.end()
      await ended
      await utimes(path, modifiedAt, modifiedAt)
    },
    async abort() {
      file.destroy()
      await ended.catch(() => {})
    },
  }
}
