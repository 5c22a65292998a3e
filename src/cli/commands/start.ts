import { type Client, waitUntilReady } from "#client"
import type { Progress, RunningProject } from "#contract"
import { openBrowser } from "../io/browser.ts"
import type { Cli } from "../io/cli.ts"
import { exitCodes } from "../io/failures.ts"
import { formatBytes, parseCount, parseMemory } from "../io/formats.ts"
import { ProgressLine } from "../io/progress.ts"
import { sanitize } from "../io/table.ts"
import { connect } from "../session/connection.ts"
import { findProject, projectNameOf } from "../session/names.ts"

interface StartOptions {
  wait?: boolean
  cpus?: string
  memory?: string
  gpus?: string
  gpuMemory?: string
  open?: boolean
}

export async function start(cli: Cli, name: string, options: StartOptions): Promise<number | undefined> {
  const { client, server } = await connect(cli)
  const { ID: ProjectID } = await findProject(client, name)
  const body = { ProjectID, ...(await amountsOf(client, options)) }
  const accepted = await client.startRun({ body, headers: { prefer: "respond-async" } })
  const waits = options.wait ?? (options.open === true || cli.showsProgress)
  const run = waits ? await follow(cli, client, accepted.ID) : accepted
  cli.show(run, () => describe(run))
  if (options.open && run.State === "ready") await openBrowser(cli, `${server}/open?ID=${run.ID}`)
  return run.State === "failed" ? exitCodes.runFailed : exitCodes.done
}

async function amountsOf(client: Client, { cpus, memory, gpus, gpuMemory }: StartOptions): Promise<Record<string, number>> {
  const unit = memory === undefined && gpuMemory === undefined ? "MiB" : (await client.whoami()).MemoryUnit
  return {
    ...(cpus === undefined ? {} : { Cpus: parseCount(cpus, "--cpus") }),
    ...(memory === undefined ? {} : { Memory: parseMemory(memory, unit, "--memory") }),
    ...(gpus === undefined ? {} : { Gpus: parseCount(gpus, "--gpus") }),
    ...(gpuMemory === undefined ? {} : { GpuMemory: parseMemory(gpuMemory, unit, "--gpu-memory") }),
  }
}

/** Shows each step until the program answers. Ctrl-C ends the showing, and the start goes on. */
async function follow(cli: Cli, client: Client, ID: number): Promise<RunningProject> {
  using line = new ProgressLine(cli)
  const { signal } = cli.process
  try {
    return await waitUntilReady(client, ID, { signal, onChange: (run) => showStep(line, run) })
  } catch (error) {
    if (signal.aborted) cli.note(`Run ${ID} goes on; \`quayside stop ${ID}\` stops it.`)
    throw error
  }
}

function showStep(line: ProgressLine, { State, Progress, QueuePosition, WaitsFor }: RunningProject): void {
  if (State === "queued") line.text(`queued${QueuePosition ? ` (position ${QueuePosition})` : ""}: ${WaitsFor ?? "waits for capacity"}`)
  else if (!Progress) line.text(`${State} …`)
  else if (Progress.unit === "bytes" && Progress.total !== null) line.bytes(`${State}: ${Progress.step}`, Progress.current, Progress.total)
  else line.text(`${State}: ${Progress.step} (${amountOf(Progress)})`)
}

function amountOf({ current, total, unit }: Progress): string {
  return unit === "bytes" ? formatBytes(current) : `${current}${total === null ? "" : ` of ${total}`} ${unit}`
}

function describe(run: RunningProject): string {
  const name = sanitize(projectNameOf(run))
  if (run.State === "ready") return `${name} is ready (run ${run.ID}): ${run.URL}`
  return `${name} is ${run.State} (run ${run.ID}).`
}
