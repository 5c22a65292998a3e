import type { ContainerLogLine, LogOptions } from "../engine.ts"
import type { FakeContainer } from "./fake-container.ts"
import type { FakeDaemon } from "./fake-daemon.ts"

/**
 * Yields the stored lines, then, with `follow`, each new one until the program ends or the signal
 * is aborted.
 */
export async function* readLogs(daemon: FakeDaemon, container: FakeContainer, options: LogOptions): AsyncIterable<ContainerLogLine> {
  const { tail, since, follow = false, signal } = options
  const { key } = container.spec
  const fresh: ContainerLogLine[] = []
  let ended = container.state === "exited"
  let wake = () => {}
  const onLine = (line: ContainerLogLine) => {
    fresh.push(line)
    wake()
  }
  const onEnd = () => {
    ended = true
    wake()
  }
  const stored = container.lines.filter((line) => since === undefined || line.time > since)
  if (follow) daemon.events.on(`log:${key}`, onLine).on(`end:${key}`, onEnd)
  signal?.addEventListener("abort", onEnd, { once: true })
  try {
    yield* tail === undefined ? stored : stored.slice(Math.max(0, stored.length - tail))
    while (follow) {
      while (fresh.length > 0) yield fresh.shift() as ContainerLogLine
      if (ended || signal?.aborted) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    daemon.events.off(`log:${key}`, onLine).off(`end:${key}`, onEnd)
    signal?.removeEventListener("abort", onEnd)
  }
}
