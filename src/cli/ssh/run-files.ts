import type { Attributes } from "ssh2"
import { quoteForShell, type RunShell } from "./run-shell.ts"

/** Why a file of the run cannot be used, as SFTP tells it. */
export class RunFileError extends Error {
  readonly kind: "missing" | "denied" | "failed"

  constructor(message: string) {
    super(message)
    this.kind = /No such file/.test(message) ? "missing" : /Permission denied|Operation not permitted/.test(message) ? "denied" : "failed"
  }
}

export interface RunEntry {
  name: string
  attributes: Attributes
}

const blockBytes = 65_536
/** Fetched at once: a request for each block would wait for the network each time. */
const readBlocks = 16
const stringFormat = "%f %s %u %g %X %Y"

/** The files of a run, by its shell and the programs that every distribution has. */
export class RunFiles {
  readonly #shell: RunShell

  constructor(shell: RunShell) {
    this.#shell = shell
  }

  /** The absolute path without links; of `.`, the directory that programs start in. */
  async realPath(path: string): Promise<string> {
    return (await this.#text(`readlink -f ${word(path)} || printf '%s\\n' ${word(path)}`)).replace(/\n$/, "")
  }

  async attributes(path: string, { followsLinks }: { followsLinks: boolean }): Promise<Attributes> {
    const [attributes] = parseAttributes(await this.#text(`stat ${followsLinks ? "-L" : ""} -c '${stringFormat}' ${word(path)}`))
    if (!attributes) throw new RunFileError("The run's stat answered something else")
    return attributes
  }

  async list(path: string): Promise<RunEntry[]> {
    const { mark } = this.#shell
    const find = `find ${word(path)}/. -mindepth 1 -maxdepth 1 -exec stat -c '/${mark}${stringFormat} %n/${mark}' {} +`
    const { status, output } = await this.#shell.run(`LC_ALL=C; export LC_ALL; ${find} 2>&1`)
    const entries = output
      .toString()
      .split(`/${mark}`)
      .flatMap((record) => parseEntry(record) ?? [])
    // Files that disappear meanwhile make `find` fail as well.
    if (status !== 0 && entries.length === 0) throw new RunFileError(output.toString().trim())
    return entries
  }

  /** Throws unless it is a file that the run may read. */
  async assertReadable(path: string): Promise<void> {
    await this.#text(`${mustBeFile(path)}; dd if=${word(path)} bs=1 count=0 2>&1`)
  }

  /** Makes the file as the flags of SFTP say. */
  async create(path: string, { mode, isNew, truncates }: { mode: number | undefined; isNew: boolean; truncates: boolean }): Promise<void> {
    const name = word(path)
    const refusal = isNew ? `echo 'The file is there already'; exit 1` : `${mustBeFile(path)}${truncates ? `; : > ${name}` : ""}`
    const chmod = mode === undefined ? "" : ` && chmod ${octal(mode)} ${name}`
    await this.#text(`if [ -e ${name} ] || [ -L ${name} ]; then ${refusal}; else : > ${name}${chmod}; fi`)
  }

  /** Whole blocks around an offset, and where they begin; shorter at the end of the file. */
  async read(path: string, offset: number): Promise<{ start: number; data: Buffer }> {
    const first = Math.floor(offset / blockBytes)
    const dd = `dd if=${word(path)} bs=${blockBytes} skip=${first} count=${readBlocks}`
    const { status, output } = await this.#shell.run(`${dd} 2>/dev/null`)
    if (status !== 0) throw new RunFileError(`${path} cannot be read`)
    return { start: first * blockBytes, data: output }
  }

  /** `offset` undefined: at the end. */
  async write(path: string, data: Buffer, offset: number | undefined): Promise<void> {
    const decoded = `printf %s '${data.toString("base64")}' | base64 -d`
    if (offset === undefined) return void (await this.#text(`${decoded} >> ${word(path)}`))
    let bytes = blockBytes
    while (offset % bytes !== 0) bytes /= 2
    await this.#text(`${decoded} | dd of=${word(path)} bs=${bytes} seek=${offset / bytes} conv=notrunc`)
  }

  async change(path: string, { mode, uid, gid, size, mtime }: Partial<Attributes>): Promise<void> {
    const name = word(path)
    const steps = [
      size === undefined ? [] : [`truncate -s ${size} ${name}`],
      uid === undefined || gid === undefined ? [] : [`chown ${uid}:${gid} ${name}`],
      mode === undefined ? [] : [`chmod ${octal(mode)} ${name}`],
      mtime === undefined ? [] : [`touch -c -d @${mtime} ${name}`],
    ].flat()
    await this.#text(steps.join(" && ") || ":")
  }

  async createDirectory(path: string, mode: number | undefined): Promise<void> {
    await this.#text(`mkdir ${mode === undefined ? "" : `-m ${octal(mode)}`} ${word(path)}`)
  }

  async remove(path: string, { isDirectory }: { isDirectory: boolean }): Promise<void> {
    await this.#text(`${isDirectory ? "rmdir" : "rm"} ${word(path)}`)
  }

  /** SFTP replaces no file by a rename. */
  async rename(from: string, to: string): Promise<void> {
    const isThere = `[ -e ${word(to)} ] || [ -L ${word(to)} ]`
    await this.#text(`if ${isThere}; then echo 'The new name is there already'; exit 1; else mv ${word(from)} ${word(to)}; fi`)
  }

  async readLink(path: string): Promise<string> {
    return (await this.#text(`readlink ${word(path)} || { echo 'This is no link'; exit 1; }`)).replace(/\n$/, "")
  }

  async link(target: string, path: string): Promise<void> {
    await this.#text(`ln -s -- ${quoteForShell(target)} ${word(path)}`)
  }

  /** The output of a script; if it failed, that is the error. */
  async #text(script: string): Promise<string> {
    const { status, output } = await this.#shell.run(`LC_ALL=C; export LC_ALL; { ${script}\n} 2>&1`)
    if (status !== 0) throw new RunFileError(output.toString().trim().slice(0, 1_000))
    return output.toString()
  }
}

/** A path as a word that no program takes for an option. */
function word(path: string): string {
  return quoteForShell(path.startsWith("/") ? path : `./${path}`)
}

/** Pipes and devices would block the shell. */
function mustBeFile(path: string): string {
  return `stat -L -c '' ${word(path)} > /dev/null && [ -f ${word(path)} ] || { [ -e ${word(path)} ] && echo 'This is no file'; exit 1; }`
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8)
}

function parseAttributes(text: string): [Attributes, string] | [] {
  const [, mode = "", size, uid, gid, atime, mtime, rest = ""] = /^([0-9a-f]+) (\d+) (\d+) (\d+) (\d+) (\d+)(.*)$/s.exec(text) ?? []
  if (mode === "") return []
  const [numericSize, ...others] = [size, uid, gid, atime, mtime].map(Number) as [number, number, number, number, number]
  const [numericUid, numericGid, accessed, modified] = others
  const attributes = {
    mode: Number.parseInt(mode, 16),
    size: numericSize,
    uid: numericUid,
    gid: numericGid,
    atime: accessed,
    mtime: modified,
  }
  return [attributes, rest]
}

function parseEntry(record: string): RunEntry | undefined {
  const [attributes, rest = ""] = parseAttributes(record)
  const name = rest.slice(rest.lastIndexOf("/") + 1)
  return attributes && name !== "" ? { name, attributes } : undefined
}
