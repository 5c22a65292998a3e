import type { ServerResponse } from "node:http"
import { crc32 } from "node:zlib"
import { ClientGoneError } from "../failures.ts"
import { dataDescriptor, directoryRecord, endRecords, localHeader, type ZipEntry } from "./zip-format.ts"

const chunkBytes = 65_536

/** Sends the entries of a zip under back-pressure, and its directory at the end. */
export class ArchiveStream {
  readonly #response: ServerResponse
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #offset = 0
  #entry: (ZipEntry & { offset: number }) | undefined
  readonly #directory: Buffer[] = []

  constructor(response: ServerResponse) {
    this.#response = response
  }

  /** Sends an entry whose content is in memory. */
  addWhole(entry: ZipEntry, content: Buffer): Promise<void> | undefined {
    const offset = this.#offset
    const facts = { crc: crc32(content), bytes: content.length }
    this.#directory.push(directoryRecord({ ...entry, ...facts, offset }))
    return this.write(localHeader(entry), content, dataDescriptor({ ...entry, ...facts }))
  }

  begin(entry: ZipEntry): Promise<void> | undefined {
    this.#entry = { ...entry, offset: this.#offset }
    return this.write(localHeader(entry))
  }

  /** Ends the entry that `begin` began. */
  finish(facts: { crc: number; bytes: number }): Promise<void> | undefined {
    if (!this.#entry) return undefined
    const entry = { ...this.#entry, ...facts }
    this.#entry = undefined
    this.#directory.push(directoryRecord(entry))
    return this.write(dataDescriptor(entry))
  }

  /** The caller waits for a returned promise: the client reads more slowly. */
  write(...parts: Buffer[]): Promise<void> | undefined {
    for (const part of parts) {
      this.#offset += part.length
      this.#waitingBytes += part.length
      this.#waiting.push(part)
    }
    return this.#waitingBytes < chunkBytes ? undefined : this.#flush()
  }

  #flush(): Promise<void> {
    const bytes = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
    return new Promise((resolve, reject) => {
      const onClose = () => reject(new ClientGoneError())
      if (this.#response.destroyed) return onClose()
      this.#response.once("close", onClose)
      this.#response.write(bytes, (error) => {
        this.#response.off("close", onClose)
        if (error) reject(new ClientGoneError())
        else resolve()
      })
    })
  }

  async end(): Promise<void> {
    const offset = this.#offset
    for (const record of this.#directory) {
      const sent = this.write(record)
      if (sent) await sent
    }
    await this.write(endRecords({ entries: this.#directory.length, offset, bytes: this.#offset - offset }))
    await this.#flush()
    this.#response.end()
  }
}
