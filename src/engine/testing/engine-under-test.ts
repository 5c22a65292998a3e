import assert from "node:assert/strict"
import type { Program } from "../../../test/fixtures/run-spec.ts"
import type { ContainerLogLine, Engine, ObservedRun, RunSpec } from "../engine.ts"
import type { PulledImage } from "../stored-images.ts"

const ignore = () => {}

/** The parts of an adapter that the suite needs. */
export interface EngineUnderTest {
  engine: Engine
  /** Opens a second engine on the same containers, as after a restart of Quayside. */
  reopen(): Promise<Engine>
  /** Opens an engine of another instance on the same containers. */
  openOtherInstance(): Promise<Engine>
  images: {
    /**
     * Listens on the spec's port, answers HTTP with status 200, prints a line soon after its start,
     * and ends on request.
     */
    serves: Program
    /** Ends with exit code 3. */
    exits: Program
    /** Is killed for memory. */
    oom: Program
    /** Never listens. */
    noPort: Program
    /** Ignores the request to end. */
    stubborn: Program
    missing: Program
    noCommand: Program
    /** In a registry, and not on the engine. */
    remote: Program
  }
  /** The pulls that the engine reported. */
  pulls: PulledImage[]
  /** An image that was built on this machine. */
  localImage: string
  /** An existing directory, as a mount source. */
  source: string
}

export async function findRun(engine: Engine, key: string): Promise<ObservedRun | undefined> {
  return (await engine.observe()).find((run) => run.key === key)
}

/** Observes after every change until the run fulfils a condition. */
export async function observeUntil(engine: Engine, key: string, isDone: (run: ObservedRun) => boolean): Promise<ObservedRun> {
  await using calls = watchChanges(engine)
  for (;;) {
    await calls.next()
    const run = await findRun(engine, key)
    if (run && isDone(run)) return run
  }
}

/** Records the calls of a watcher; one `next` covers at least one call. */
export function watchChanges(engine: Engine): AsyncDisposable & { next(): Promise<void> } {
  const controller = new AbortController()
  let called = 0
  let wake = ignore
  const done = engine.watch(() => {
    called += 1
    wake()
  }, controller.signal)
  return {
    async next() {
      if (called === 0) await new Promise<void>((resolve) => (wake = resolve))
      called = 0
    },
    async [Symbol.asyncDispose]() {
      controller.abort()
      await done
    },
  }
}

/** Fetches the run's first page once its port is open. */
export async function fetchWhenListening(engine: Engine, spec: RunSpec): Promise<Response> {
  for (;;) {
    const address = await engine.address(spec.key, spec.port)
    assert.ok(address, "the run is no longer running")
    const response = await fetch(`http://${address.host}:${address.port}/`).catch(() => undefined)
    if (response) return response
  }
}

/** Resolves at the end of the iterator. */
export async function readToEnd(lines: AsyncIterator<ContainerLogLine> | undefined): Promise<void> {
  while (lines && !(await lines.next()).done);
}

export async function readAll(lines: AsyncIterable<ContainerLogLine>): Promise<ContainerLogLine[]> {
  return await Array.fromAsync(lines)
}
