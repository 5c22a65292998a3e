import { once } from "node:events"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { simulationActions } from "./actions.ts"
import { DatabaseFiles } from "./database-files.ts"
import { chanceFaults } from "./faults.ts"
import { allowedMoves } from "./ledger.ts"
import { addCounts } from "./record.ts"
import { type Outcome, simulate } from "./simulation.ts"

/** Lines of a broken seed that its report shows. */
const reportedLines = 40

/** The counts of many seeds. */
export interface Summary {
  moves: Map<string, number>
  faults: Map<string, number>
  /** Reports of the seeds that broke a rule. */
  failures: string[]
}

/** Runs the seeds from `first` on, in as many threads. */
export async function runSeeds(first: number, count: number, threads: number): Promise<Summary> {
  const sum = emptySummary()
  const shares = Array.from({ length: threads }, async (_, n) => {
    const worker = new Worker(import.meta.filename, { workerData: { seeds: seedsOf(first, count, { n, threads }) } })
    const [{ moves, faults, failures }] = (await once(worker, "message")) as [Summary]
    addCounts(sum.moves, moves)
    addCounts(sum.faults, faults)
    sum.failures.push(...failures)
    await worker.terminate()
  })
  await Promise.all(shares)
  return sum
}

/** The moves and faults that never happened. */
export function unseenOf({ moves, faults }: Summary): string[] {
  const allMoves = Object.entries(allowedMoves).flatMap(([from, next]) => next.map((to) => `${from} → ${to}`))
  const allFaults = [...chanceFaults, ...Object.keys(simulationActions), "request of a dead process arrives"]
  return [...allMoves.filter((move) => !moves.has(move)), ...allFaults.filter((fault) => !faults.has(fault))]
}

/** One line each, the rarest first. */
export function describeCounts(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].sort(([, a], [, b]) => a - b)
  return sorted.map(([name, count]) => `${String(count).padStart(8)} ${name}`).join("\n")
}

/** The report of a seed that broke a rule. */
export function describeFailure({ seed, failure, record }: Outcome): string {
  const lines = record.lines.slice(-reportedLines).join("\n")
  return `Seed ${seed}: ${failure}\n${lines}\nReplay it: node src/runs/testing/simulation/replay.ts ${seed}`
}

function seedsOf(first: number, count: number, { n, threads }: { n: number; threads: number }): number[] {
  return Array.from({ length: count }, (_, i) => first + i).filter((_, i) => i % threads === n)
}

function emptySummary(): Summary {
  return { moves: new Map(), faults: new Map(), failures: [] }
}

async function work(seeds: readonly number[]): Promise<Summary> {
  using files = await DatabaseFiles.make()
  const sum = emptySummary()
  for (const seed of seeds) {
    const outcome = await simulate(seed, files)
    addCounts(sum.moves, outcome.record.moves)
    addCounts(sum.faults, outcome.record.faults)
    if (outcome.failure !== undefined) sum.failures.push(describeFailure(outcome))
  }
  return sum
}

if (!isMainThread && Array.isArray(workerData?.seeds)) parentPort?.postMessage(await work(workerData.seeds))
