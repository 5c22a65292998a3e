import { constants, fstatSync, read, type Stats } from "node:fs"
import { crc32 } from "node:zlib"
import { bounds } from "#contract"
import { Yielder } from "#kit"
import { fileFailure, forbidden, invalid, notFound } from "../failures.ts"
import { visitEntries, visitListing } from "../methods/listing.ts"
import type { DavResource } from "../properties/live-properties.ts"
import { isReservedName, joinPath } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { securityHeaders } from "../responses.ts"
import { readCached } from "../tree/cached-calls.ts"
import { disposableDescriptor } from "../tree/directory-handle.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"
import { ArchiveStream } from "./archive-stream.ts"
import { attachment } from "./attachment.ts"
import { isLargeFile, type ZipEntry } from "./zip-format.ts"

const maxDirectoryBytes = bounds.files.archiveDirectoryBytes.value
/** A record's fixed part and its extra fields at most. */
const recordBytes = 46 + 9 + 28
const chunkBytes = 262_144
/** A file of up to this size is read at once, if it is in memory. */
const smallFileBytes = 65_536
/** Names that the note at an archive's end lists. */
const maxNoted = 1_000
const noteName = "NOT-AS-EXPECTED.txt"

/**
 * Sends a directory, or some of its entries, as a zip. Entries are stored, so the processor costs
 * little and the client's progress follows the bytes. A first walk checks the limits before the
 * first byte.
 */
export async function sendArchive(request: DavRequest, entries: readonly string[]): Promise<void> {
  request.assertStillAllowed = () => request.assertReadable()
  await request.assertStillAllowed()
  using _slot = request.context.requestLimiter.acquire(request.userId, "deep")
  await checkEntries(request, entries)
  await checkSize(request, entries)
  const { response } = request
  response.writeHead(200, {
    ...securityHeaders,
    "Cache-Control": "private, no-store",
    "Content-Type": "application/zip",
    "Content-Disposition": attachment(`${request.names.at(-1) ?? "files"}.zip`),
  })
  if (request.incoming.method === "HEAD") return void response.end()
  using archive = new Archive(request)
  const count = recordCounter()
  await visit(request, entries, (resource) => {
    count(resource)
    return archive.add(resource)
  })
  await archive.end()
}

/** Throws unless it is a directory, and all of these are entries of it. */
async function checkEntries({ context, names, root, userId }: DavRequest, entries: readonly string[]): Promise<void> {
  using directory = await root.openDescendant(names)
  if (!directory.stat().isDirectory()) throw notFound()
  const yielder = new Yielder(context.scheduler, userId)
  for (const name of entries) {
    const isName = name !== "" && name !== "." && name !== ".." && !name.includes("/") && !name.includes("\0")
    if (!isName) throw invalid(`name must be the name of an entry of this directory, got ${JSON.stringify(name)}`)
    const stats = isReservedName(name, names.length) ? undefined : await directory.lstat(name)
    if (!(stats?.isFile() || stats?.isDirectory())) throw notFound()
    await yielder.pause()
  }
}

/** Visits the directory, or these entries of it. */
function visit(request: DavRequest, entries: readonly string[], add: (resource: DavResource) => Promise<void> | undefined): Promise<void> {
  if (entries.length === 0) return visitListing(request, { depth: "infinity", level: "read", visit: add })
  return visitEntries(request, { entries: [...new Set(entries)], level: "read", visit: add })
}

async function checkSize(request: DavRequest, entries: readonly string[]): Promise<void> {
  const count = recordCounter()
  await visit(request, entries, (resource) => count(resource))
}

/**
 * Throws when an archive has too many records, which stay in memory until its end. Also called for
 * each entry that is sent: a program may have moved others there since the first walk.
 */
function recordCounter(): (resource: DavResource) => undefined {
  let bytes = 0
  return ({ path }) => {
    bytes += recordBytes + Buffer.byteLength(path)
    if (bytes > maxDirectoryBytes)
      throw forbidden(`An archive's list of names has at most ${maxDirectoryBytes} bytes; this has more: download parts of it`)
  }
}

/** One archive under way. */
class Archive implements Disposable {
  readonly #request: DavRequest
  readonly #stream: ArchiveStream
  /** The part of a path that the names in the archive leave out. */
  readonly #above: string
  /** The directory of the last file: the next one mostly is beside it. */
  #parent: { path: string; handle: TreeDirectory } | undefined
  readonly #notes: string[] = []

  constructor(request: DavRequest) {
    this.#request = request
    this.#stream = new ArchiveStream(request.response)
    const above = joinPath(request.names.slice(0, -1))
    this.#above = above === "/" ? "/" : `${above}/`
  }

  add({ path, isDirectory, stats }: DavResource): Promise<void> | undefined {
    const name = path.slice(this.#above.length)
    if (!isDirectory) return this.#addFile(path, name)
    if (name === "") return undefined
    const { mode, mtimeMs } = stats
    return this.#stream.addWhole({ name: `${name}/`, mode, mtimeMs, isLarge: false }, Buffer.alloc(0))
  }

  async #addFile(path: string, name: string): Promise<void> {
    let fd: number
    try {
      fd = await this.#open(path)
    } catch (error) {
      this.#skip(error, name)
      return
    }
    using file = disposableDescriptor(fd)
    const before = fstatSync(file.fd)
    if (!before.isFile()) return
    const entry = { name, mode: before.mode & 0o100777, mtimeMs: before.mtimeMs, isLarge: isLargeFile(before.size) }
    if (before.size <= smallFileBytes) await this.#stream.addWhole(entry, await this.#readWhole(file.fd, before.size))
    else await this.#sendLarge(file.fd, entry, before.size)
    if (hasChanged(before, fstatSync(file.fd))) this.#note(`${name}: changed while it was read`)
  }

  async #open(path: string): Promise<number> {
    const at = path.lastIndexOf("/")
    const above = path.slice(0, at)
    if (this.#parent?.path !== above) {
      this.#parent?.handle[Symbol.dispose]()
      this.#parent = undefined
      this.#parent = { path: above, handle: await this.#request.root.openDescendant(above.split("/").slice(1)) }
    }
    return await this.#parent.handle.open(path.slice(at + 1), constants.O_RDONLY)
  }

  /**
   * A file that vanished is no part of the directory any more; one that cannot be read is noted.
   */
  #skip(error: unknown, name: string): void {
    const failure = fileFailure(error)
    if (!failure || failure.status === 503) throw error
    if (failure.status !== 404) this.#note(`${name}: left out. ${failure.message}`)
  }

  #note(line: string): void {
    if (this.#notes.length < maxNoted) this.#notes.push(line)
  }

  /** Reads at most the bytes that the file had when it was opened. */
  async #sendLarge(fd: number, entry: ZipEntry, size: number): Promise<void> {
    using _held = this.#request.holdOpen(fd)
    await this.#stream.begin(entry)
    let crc = 0
    let bytes = 0
    while (bytes < size) {
      const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size - bytes))
      const count = await this.#read(fd, chunk, bytes)
      if (count === 0) break
      crc = crc32(chunk.subarray(0, count), crc)
      bytes += count
      await this.#stream.write(chunk.subarray(0, count))
    }
    await this.#stream.finish({ crc, bytes })
  }

  async #readWhole(fd: number, size: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(size)
    let count = readCached(fd, bytes, 0) ?? 0
    for (let more = size - count; more > 0; ) {
      more = await this.#read(fd, bytes.subarray(count), count)
      count += more
    }
    return bytes.subarray(0, count)
  }

  #read(fd: number, buffer: Buffer, position: number): Promise<number> {
    return buffer.length === 0 ? Promise.resolve(0) : this.#request.root.inTurn(() => readInto(fd, buffer, position))
  }

  async end(): Promise<void> {
    if (this.#notes.length > 0) {
      const text = Buffer.from(`${this.#notes.join("\n")}\n`)
      await this.#stream.addWhole({ name: noteName, mode: 0o100644, mtimeMs: Date.now(), isLarge: false }, text)
    }
    await this.#stream.end()
  }

  [Symbol.dispose](): void {
    this.#parent?.handle[Symbol.dispose]()
  }
}

function hasChanged(before: Stats, after: Stats): boolean {
  return before.size !== after.size || before.mtimeMs !== after.mtimeMs
}

function readInto(fd: number, buffer: Buffer, position: number): Promise<number> {
  return new Promise((resolve, reject) =>
    read(fd, buffer, 0, buffer.length, position, (error, count) => (error ? reject(error) : resolve(count))),
  )
}
