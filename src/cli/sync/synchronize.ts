import { rm } from "node:fs/promises"
import { localChecksum } from "../files/checksum.ts"
import { inParallel } from "../files/in-parallel.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import type { DatasetFolder } from "./dataset-folder.ts"
import { readIgnored } from "./ignored.ts"
import { ChangedMeanwhileError, isFolder, type LocalFolder } from "./local-folder.ts"
import { type BaseEntry, type FileState, planSteps, type RemoteFile, type SyncAction, type SyncSides, type SyncStep } from "./plan.ts"
import type { SyncState } from "./sync-state.ts"

export interface SyncSummary {
  uploaded: number
  downloaded: number
  removedHere: number
  removedThere: number
  /** The names that local versions got. */
  conflicts: string[]
  /** Links, devices and the like. */
  skipped: string[]
}

export interface SyncOptions {
  local: LocalFolder
  remote: DatasetFolder
  state: SyncState
  /** One side may have lost all its files. */
  isForced: boolean
  onStep: (step: SyncStep) => void
}

const maxRounds = 5
const maxConcurrent = 4
const quiet: readonly SyncAction[] = ["skip", "adopt", "forget"]
const transfers: readonly SyncAction[] = ["compare", "download", "upload"]

function emptySummary(): SyncSummary {
  return { uploaded: 0, downloaded: 0, removedHere: 0, removedThere: 0, conflicts: [], skipped: [] }
}

/** Makes both sides the same. A change of either side during a round is met by the next one. */
export async function synchronize(options: SyncOptions): Promise<SyncSummary> {
  const summary = emptySummary()
  for (let round = 1; round <= maxRounds; round += 1) {
    const { steps, sides } = await scanAndPlan(options)
    summary.skipped = steps.filter(({ action }) => action === "skip").map(({ path }) => path)
    const isDone = steps.every(({ action }) => quiet.includes(action))
    try {
      await new Round(options, sides, summary).perform(steps)
    } finally {
      await options.state.save()
    }
    if (isDone) break
  }
  summary.conflicts = options.local.conflicts.splice(0)
  return summary
}

/** Both sides, and the steps that a call would take now. */
export async function scanAndPlan({ local, remote, state, isForced }: SyncOptions): Promise<{ steps: SyncStep[]; sides: SyncSides }> {
  if (!(await isFolder(local.root))) throw new CliError(`${local.root} is not there.`, { exitCode: exitCodes.notFound })
  const isIgnored = await readIgnored(local.root)
  const [here, there] = await Promise.all([local.scan(isIgnored), remote.scan(isIgnored)])
  const sides = { local: here, remote: there, base: new Map(state.entries) }
  if (!isForced) assertNotEmptied(sides)
  return { steps: planSteps(sides), sides }
}

/** A disk that is not mounted, or another dataset of the same name, looks like a removal of all. */
function assertNotEmptied({ local, remote, base }: SyncSides): void {
  const known = [...base].filter(([, { kind }]) => kind === "file").map(([path]) => path)
  if (known.length < 2) return
  for (const [side, name] of [
    [local, "here"],
    [remote, "at the server"],
  ] as const) {
    if (known.some((path) => side.has(path))) continue
    throw new CliError(`All ${known.length} files are gone ${name}; nothing was done.`, {
      exitCode: exitCodes.conflict,
      hint: "--force removes them on the other side as well.",
    })
  }
}

class Round {
  readonly #options: SyncOptions
  readonly #sides: SyncSides
  readonly #summary: SyncSummary

  constructor(options: SyncOptions, sides: SyncSides, summary: SyncSummary) {
    this.#options = options
    this.#sides = sides
    this.#summary = summary
  }

  async perform(steps: readonly SyncStep[]): Promise<void> {
    const isTransfer = ({ action }: SyncStep) => transfers.includes(action)
    for (const step of steps.filter((each) => !isTransfer(each))) await this.#try(step)
    await inParallel(steps.filter(isTransfer), maxConcurrent, (step) => this.#try(step))
  }

  async #try(step: SyncStep): Promise<void> {
    try {
      if (!quiet.includes(step.action)) this.#options.onStep(step)
      await this.#do(step)
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError)) throw error
      // A folder that holds something after all, such as ignored files, stays on both sides.
      const { entries } = this.#options.state
      if (entries.get(step.path)?.kind === "directory") entries.delete(step.path)
    }
  }

  async #do({ path, action }: SyncStep): Promise<void> {
    const { local, remote, state } = this.#options
    const [here, there] = [this.#sides.local.get(path), this.#sides.remote.get(path)]
    if (action === "forget") return void state.entries.delete(path)
    if (action === "adopt") return void state.entries.set(path, { kind: "directory" })
    if (action === "createHere") await local.createDirectory(path)
    if (action === "createThere") await remote.createDirectory(path)
    if (action === "createHere" || action === "createThere") state.entries.set(path, { kind: "directory" })
    if (action === "removeHere" && here) {
      await local.remove(path, here)
      this.#removed(path, "removedHere")
    }
    if (action === "removeThere" && there) {
      await remote.remove(path, there)
      this.#removed(path, "removedThere")
    }
    if (action === "moveAside") await local.moveAside(path)
    const [localFile, remoteFile] = [here?.kind === "file" ? here : undefined, there?.kind === "file" ? there : undefined]
    if (action === "upload" && localFile) await this.#upload(path, localFile, remoteFile)
    if (action === "download" && remoteFile) await this.#download(path, remoteFile, localFile)
    if (action === "compare" && localFile && remoteFile) await this.#compare(path, localFile, remoteFile)
  }

  #removed(path: string, side: "removedHere" | "removedThere"): void {
    if (this.#options.state.entries.get(path)?.kind === "file") this.#summary[side] += 1
    this.#options.state.entries.delete(path)
  }

  async #upload(path: string, file: FileState, replaced: RemoteFile | undefined): Promise<void> {
    const { local, remote } = this.#options
    const tag = await remote.upload(path, await local.resolvePath(path), file, replaced).catch((error: Error) => {
      // A file that changes while it is read cannot be sent.
      if (error.name === "NotReadableError") throw new ChangedMeanwhileError(error.message)
      throw error
    })
    this.#same(path, { ...file, tag })
    this.#summary.uploaded += 1
  }

  async #download(path: string, file: RemoteFile, replaced: FileState | undefined): Promise<void> {
    const { local, remote } = this.#options
    const tempFile = local.newTempFile()
    await remote.download(path, file, tempFile)
    this.#same(path, { ...(await local.replace(path, tempFile, replaced)), tag: file.tag })
    this.#summary.downloaded += 1
  }

  /** Both versions stay: that of the server has the name, the local one that of a conflict. */
  async #compare(path: string, here: FileState, there: RemoteFile): Promise<void> {
    const { local, remote } = this.#options
    const tempFile = local.newTempFile()
    await remote.download(path, there, tempFile)
    const absolute = await local.resolvePath(path)
    if (here.size === there.size && (await localChecksum(absolute)) === (await localChecksum(tempFile))) {
      await rm(tempFile)
      return this.#same(path, { ...here, tag: there.tag })
    }
    await local.moveAside(path)
    this.#same(path, { ...(await local.replace(path, tempFile, undefined)), tag: there.tag })
    this.#summary.downloaded += 1
  }

  #same(path: string, file: BaseEntry): void {
    this.#options.state.entries.set(path, file)
  }
}
