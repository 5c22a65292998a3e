import { Failure, isLive, type LogLine, type RunningProject } from "#contract"
import type { Client } from "./client.ts"
import { watchRun } from "./watch-run.ts"

/** A run that stops at the end of its scope: `await using run = await startRun(…)`. */
export interface StartedRun extends AsyncDisposable {
  readonly ID: number
  /** The address of its program. */
  readonly URL: string
  /** The run as it was when it became ready. */
  readonly run: RunningProject
  /** Its output from the beginning. With `follow`, until it has ended. */
  logs(options?: { follow?: boolean; signal?: AbortSignal }): AsyncIterable<LogLine>
  /** Resolves when the engine holds nothing of it. Stopping it again is fine. */
  stop(): Promise<void>
}

/** The body of a start. Amounts that are absent have the server's defaults. */
export interface StartRequest {
  ProjectID: number
  Cpus?: number
  Memory?: number
  Gpus?: number
  GpuMemory?: number
}

export interface StartOptions {
  /** Ends the waiting, and stops the run. */
  signal?: AbortSignal
  /** Called with the run after each change. */
  onChange?: (run: RunningProject) => void
}

/** Starts a project and waits until its program answers. Throws the `Failure` of a failed start. */
export async function startRun(client: Client, request: StartRequest, { signal, onChange }: StartOptions = {}): Promise<StartedRun> {
  const ended = signal ?? new AbortController().signal
  const { ID } = await client.startRun({ body: request, headers: { prefer: "respond-async" }, signal: ended })
  const stop = async () => {
    await client.stopRun({ query: { ID } })
  }
  try {
    const run = await waitUntilReady(client, ID, { signal: ended, ...(onChange ? { onChange } : {}) })
    return {
      ID,
      URL: run.URL,
      run,
      logs: (options) => readLogs(client, ID, options),
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    if (ended.aborted) await stop()
    throw error
  }
}

/** Resolves with the run once it is `ready`. Throws a `Failure` with its reason if it ends. */
export async function waitUntilReady(
  client: Client,
  ID: number,
  { signal, onChange }: { signal: AbortSignal; onChange?: (run: RunningProject) => void },
): Promise<RunningProject> {
  for await (const run of watchRun(client, ID, { signal })) {
    onChange?.(run)
    if (run.State === "ready") return run
    if (isLive(run.State)) continue
    const { State, Reason } = run
    throw new Failure(Reason?.code ?? "internal", Reason?.msg ?? `The run is ${State}.`, { extra: { ID, State, Reason } })
  }
  throw new Failure("not_found", `Run ${ID} is gone.`)
}

async function* readLogs(client: Client, ID: number, { follow = false, signal }: { follow?: boolean; signal?: AbortSignal } = {}) {
  yield* await client.runLogs({ query: { ID, ...(follow ? { follow: true } : {}) }, ...(signal ? { signal } : {}) })
}
