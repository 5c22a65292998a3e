import { isLive, type RunningProject, type RunStats } from "#contract"
import { openBrowser } from "../io/browser.ts"
import type { Cli, Colour } from "../io/cli.ts"
import { exitCodes } from "../io/failures.ts"
import { formatAge, formatMemory, type MemoryUnit, parseCount, parseTime } from "../io/formats.ts"
import { formatFields, formatTable, sanitize, sanitizeOutput, toJson } from "../io/table.ts"
import { connect } from "../session/connection.ts"
import { findRun, projectNameOf, readAllPages } from "../session/names.ts"

const pageSize = 200
const maxHistory = 1_000

export async function list(cli: Cli, { all = false, everyone = false }: { all?: boolean; everyone?: boolean }): Promise<undefined> {
  const { client, userName } = await connect(cli)
  const own = everyone ? {} : { UserName: userName || (await client.whoami()).UserName }
  const [live, ended] = await Promise.all([
    readAllPages((page) => client.listRuns({ query: { ...own, page, pageSize } })),
    all ? readAllPages((page) => client.listRuns({ query: { ...own, State: "ended", page, pageSize } }), maxHistory) : [],
  ])
  const runs = [...live, ...ended]
  if (runs.length === 0) cli.note("Nothing runs. `quayside project ls` lists what you can start.")
  if (runs.length > 0 || cli.isJson) cli.show(runs, () => runTable(cli, runs, everyone))
  return undefined
}

const stateColours: Partial<Record<RunningProject["State"], Colour>> = { ready: "green", failed: "red", ended: "dim" }

export function runTable(cli: Cli, runs: readonly RunningProject[], withUser: boolean): string {
  const now = Date.now()
  const table = formatTable<RunningProject>(
    runs,
    {
      id: (run) => String(run.ID),
      project: projectNameOf,
      ...(withUser ? { user: (run: RunningProject) => run.UserName } : {}),
      state: (run) => run.State,
      age: (run) => formatAge(run.StartTime, now),
      cpus: (run) => String(run.Cpus || ""),
      gpus: (run) => String(run.Gpus || ""),
      url: (run) => run.URL || (run.WaitsFor ?? run.Reason?.msg ?? ""),
    },
    (heading) => cli.colour("bold", heading),
  )
  const [heading = "", ...lines] = table.split("\n")
  const coloured = lines.map((line, i) => {
    const state = runs[i]?.State
    const colour = state && stateColours[state]
    return colour ? line.replace(`  ${state}`, `  ${cli.colour(colour, state)}`) : line
  })
  return [heading, ...coloured].join("\n")
}

export async function stop(cli: Cli, names: readonly string[]): Promise<undefined> {
  const { client } = await connect(cli)
  // All names are found before the first run is stopped.
  const runs = await Promise.all(names.map((name) => findRun(client, name)))
  await Promise.all(runs.map(({ ID }) => client.stopRun({ query: { ID } })))
  const stopped = runs.map(({ ID }) => ID)
  cli.show(stopped, () => runs.map((run) => `Stopped ${sanitize(projectNameOf(run))} (${run.ID}).`).join("\n"))
  return undefined
}

export async function open(cli: Cli, name: string, { print = false }: { print?: boolean }): Promise<undefined> {
  const { client, server } = await connect(cli)
  const { ID } = await findRun(client, name)
  const address = `${server}/open?ID=${ID}`
  if (print || cli.isJson || cli.process.stdout.isTTY !== true) cli.show({ ID, URL: address }, () => address)
  else await openBrowser(cli, address)
  return undefined
}

interface LogOptions {
  follow?: boolean
  tail?: string
  since?: string
  timestamps?: boolean
}

export async function logs(cli: Cli, name: string, { follow, tail, since, timestamps }: LogOptions): Promise<undefined> {
  const query = {
    ...(follow ? { follow: true } : {}),
    ...(tail === undefined ? {} : { tail: parseCount(tail, "--tail") }),
    ...(since === undefined ? {} : { since: parseTime(since, "--since", { now: Date.now(), sign: -1 }) }),
  }
  const { client } = await connect(cli)
  const { ID } = await findRun(client, name, { mayHaveEnded: true })
  const { stdout, stderr } = cli.process
  for await (const line of await client.runLogs({ query: { ID, ...query } })) {
    const stream = line.stream === "stderr" && !cli.isJson ? stderr : stdout
    const printed = stream.isTTY ? sanitizeOutput(line.text) : line.text
    const text = cli.isJson ? toJson(line) : `${timestamps ? `${line.time} ` : ""}${printed}`
    // A reader that is slower than the run must not fill this process's memory.
    if (!stream.write(`${text}\n`)) await new Promise((resolve) => stream.once("drain", resolve))
  }
  return undefined
}

export async function stats(cli: Cli, name: string, { watch = false }: { watch?: boolean }): Promise<number | undefined> {
  const { client } = await connect(cli)
  const run = await findRun(client, name, { mayHaveEnded: true })
  const { MemoryUnit: unit } = await client.whoami()
  const show = async () => {
    const { now } = await client.runStats({ query: { ID: run.ID } })
    cli.show({ ID: run.ID, ...now }, () => formatFields(usageFields(run, now, unit)))
  }
  await show()
  while (watch) {
    await wait(2_000, cli.process.signal)
    const { State } = await client.readRun({ query: { ID: run.ID } })
    if (!isLive(State)) break
    await show()
  }
  return exitCodes.done
}

function usageFields(run: RunningProject, now: RunStats["now"], unit: MemoryUnit) {
  const share = (value: number | null) => (value === null ? "" : `${Math.round(value * 100)} %`)
  return {
    Run: `${projectNameOf(run)} (${run.ID})`,
    CPUs: now.Cpus === null ? "" : `${now.Cpus.toFixed(2)} of ${run.Cpus}`,
    Memory: now.Memory === null ? "" : `${formatMemory(now.Memory, unit)} of ${formatMemory(now.MemoryLimit, unit) || "all"}`,
    GPU: now.GpuBusy === null ? "" : `${share(now.GpuBusy)} busy, ${formatMemory(now.GpuMemory, unit)}`,
    Disk: formatMemory(now.Disk, unit),
    "Network in": formatMemory(now.NetworkIn, "bytes"),
    "Network out": formatMemory(now.NetworkOut, "bytes"),
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return import("node:timers/promises").then(({ setTimeout }) => setTimeout(ms, undefined, { signal }))
}
