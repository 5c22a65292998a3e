import ssh2, { type Attributes, type SFTPWrapper } from "ssh2"
import { type RunEntry, RunFileError, type RunFiles } from "./run-files.ts"

const { OPEN_MODE, STATUS_CODE } = ssh2.utils.sftp
const maxHandles = 256
const entriesPerReply = 100
/** Writes that follow each other are sent to the run together, up to this many bytes. */
const maxBatchBytes = 2 ** 20

/** Answers the requests of an SFTP session with the files of a run. */
export function serveSftp(sftp: SFTPWrapper, files: RunFiles): void {
  const handles = new Handles()
  const answer = (id: number, work: () => Promise<void>) => void work().catch((error: unknown) => sftp.status(id, ...refusal(error)))
  const done = (id: number, work: () => Promise<unknown>) =>
    answer(id, async () => {
      await work()
      sftp.status(id, STATUS_CODE.OK)
    })
  serveNames(sftp, files, { answer, done })
  sftp.on("OPEN", (id, path, flags, attributes) =>
    answer(id, async () => {
      const file = await openFile(files, { path, flags, mode: attributes.mode })
      sftp.handle(id, handles.add(file))
    }),
  )
  sftp.on("OPENDIR", (id, path) =>
    answer(id, async () => {
      const entries = await files.list(path)
      sftp.handle(id, handles.add({ entries: entries.values() }))
    }),
  )
  sftp.on("READDIR", (id, handle) => answer(id, async () => answerEntries(sftp, id, handles.directory(handle).entries)))
  sftp.on("READ", (id, handle, offset, length) =>
    answer(id, async () => {
      const data = await handles.file(handle).read(offset, length)
      if (data.length > 0) sftp.data(id, data)
      else sftp.status(id, STATUS_CODE.EOF)
    }),
  )
  sftp.on("WRITE", (id, handle, offset, data) => done(id, async () => handles.file(handle).write(offset, Buffer.from(data))))
  sftp.on("FSTAT", (id, handle) =>
    answer(id, async () => {
      const file = handles.file(handle)
      await file.settled()
      sftp.attrs(id, await files.attributes(file.path, { followsLinks: true }))
    }),
  )
  sftp.on("FSETSTAT", (id, handle, attributes) =>
    done(id, async () => {
      const file = handles.file(handle)
      await file.settled()
      await files.change(file.path, attributes)
    }),
  )
  sftp.on("CLOSE", (id, handle) => done(id, async () => handles.remove(handle)?.settled?.()))
}

interface Answers {
  answer(id: number, work: () => Promise<void>): void
  done(id: number, work: () => Promise<unknown>): void
}

/** The requests that name a path. */
function serveNames(sftp: SFTPWrapper, files: RunFiles, { answer, done }: Answers): void {
  const name = (id: number, filename: string) => sftp.name(id, [{ filename, longname: filename, attrs: {} as Attributes }])
  sftp.on("REALPATH", (id, path) => answer(id, async () => name(id, await files.realPath(path))))
  sftp.on("READLINK", (id, path) => answer(id, async () => name(id, await files.readLink(path))))
  sftp.on("STAT", (id, path) => answer(id, async () => sftp.attrs(id, await files.attributes(path, { followsLinks: true }))))
  sftp.on("LSTAT", (id, path) => answer(id, async () => sftp.attrs(id, await files.attributes(path, { followsLinks: false }))))
  sftp.on("SETSTAT", (id, path, attributes) => done(id, () => files.change(path, attributes)))
  sftp.on("MKDIR", (id, path, { mode }) => done(id, () => files.createDirectory(path, mode)))
  sftp.on("RMDIR", (id, path) => done(id, () => files.remove(path, { isDirectory: true })))
  sftp.on("REMOVE", (id, path) => done(id, () => files.remove(path, { isDirectory: false })))
  sftp.on("RENAME", (id, from, to) => done(id, () => files.rename(from, to)))
  // The types name both the other way round.
  sftp.on("SYMLINK", (id, path, target) => done(id, () => files.link(target, path)))
}

function answerEntries(sftp: SFTPWrapper, id: number, rest: ArrayIterator<RunEntry>): void {
  const entries = rest.take(entriesPerReply).toArray()
  if (entries.length === 0) return void sftp.status(id, STATUS_CODE.EOF)
  sftp.name(
    id,
    entries.map(({ name, attributes }) => ({ filename: name, longname: longName(name, attributes), attrs: attributes })),
  )
}

/** A line as of `ls -l`, which `sftp` prints. */
function longName(name: string, { mode, uid, gid, size, mtime }: Attributes): string {
  const kind = { 4: "d", 10: "l", 1: "p", 2: "c", 6: "b", 12: "s" }[mode >> 12] ?? "-"
  const rights = [...(mode & 0o777).toString(2).padStart(9, "0")].map((bit, i) => (bit === "1" ? "rwx"[i % 3] : "-")).join("")
  const time = new Date(mtime * 1000).toISOString().slice(0, 16).replace("T", " ")
  return `${kind}${rights} 1 ${uid} ${gid} ${String(size).padStart(10)} ${time} ${name}`
}

function refusal(error: unknown): [number, string] {
  const message = (error as Error).message
  if (!(error instanceof RunFileError) || error.kind === "failed") return [STATUS_CODE.FAILURE, message]
  return [error.kind === "missing" ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.PERMISSION_DENIED, message]
}

async function openFile(files: RunFiles, { path, flags, mode }: { path: string; flags: number; mode?: number }): Promise<OpenFile> {
  if (flags & OPEN_MODE.WRITE && flags & OPEN_MODE.CREAT)
    await files.create(path, { mode, isNew: (flags & OPEN_MODE.EXCL) !== 0, truncates: (flags & OPEN_MODE.TRUNC) !== 0 })
  else await files.assertReadable(path)
  return new OpenFile(files, path, (flags & OPEN_MODE.APPEND) !== 0)
}

/** A file that is read or written, one piece after the other. */
class OpenFile {
  readonly path: string
  readonly #files: RunFiles
  readonly #appends: boolean
  #last: Promise<unknown> = Promise.resolve()
  #known = { start: 0, data: Buffer.alloc(0) as Buffer }
  /** Writes that wait for the one that is under way. */
  #batch: { offset: number; data: Buffer[]; length: number; written: Promise<void> } | undefined

  constructor(files: RunFiles, path: string, appends: boolean) {
    this.path = path
    this.#files = files
    this.#appends = appends
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#last.catch(() => {})
  }

  read(offset: number, length: number): Promise<Buffer> {
    return this.#next(async () => {
      if (!this.#holds(offset)) this.#known = await this.#files.read(this.path, offset)
      const from = offset - this.#known.start
      return this.#known.data.subarray(from, from + length)
    })
  }

  #holds(offset: number): boolean {
    const { start, data } = this.#known
    return offset >= start && offset < start + data.length
  }

  write(offset: number, data: Buffer): Promise<void> {
    const batch = this.#batch
    if (batch && batch.offset + batch.length === offset && batch.length + data.length <= maxBatchBytes) {
      batch.data.push(data)
      batch.length += data.length
      return batch.written
    }
    const next = { offset, data: [data], length: data.length, written: Promise.resolve() }
    next.written = this.#next(async () => {
      if (this.#batch === next) this.#batch = undefined
      this.#known = { start: 0, data: Buffer.alloc(0) }
      await this.#files.write(this.path, Buffer.concat(next.data), this.#appends ? undefined : next.offset)
    })
    this.#batch = next
    return next.written
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work)
    this.#last = result
    return result
  }
}

interface OpenDirectory {
  entries: ArrayIterator<RunEntry>
  settled?: undefined
}

class Handles {
  readonly #open = new Map<string, OpenFile | OpenDirectory>()
  #count = 0

  add(opened: OpenFile | OpenDirectory): Buffer {
    if (this.#open.size === maxHandles) throw new Error(`At most ${maxHandles} files may be open at once`)
    this.#count += 1
    const name = String(this.#count)
    this.#open.set(name, opened)
    return Buffer.from(name)
  }

  file(handle: Buffer): OpenFile {
    const opened = this.#open.get(handle.toString())
    if (opened instanceof OpenFile) return opened
    throw new Error("This file is not open")
  }

  directory(handle: Buffer): OpenDirectory {
    const opened = this.#open.get(handle.toString())
    if (opened && !(opened instanceof OpenFile)) return opened
    throw new Error("This directory is not open")
  }

  remove(handle: Buffer): OpenFile | OpenDirectory | undefined {
    const opened = this.#open.get(handle.toString())
    this.#open.delete(handle.toString())
    return opened
  }
}
