import { useEffect, useRef, useState } from "react"
import { Failure, isLive, type LogLine, type RunningProject } from "#contract"
import { client } from "../../api/client.ts"
import { appendLines, maxLogLines } from "./log-lines.ts"

export interface Logs {
  lines: readonly LogLine[]
  /** Whether there were earlier lines. */
  isCut: boolean
  error: unknown
  isLoading: boolean
}

/** Lines are rendered at most this often, however fast the program prints. */
const drawMs = 100

const reconnectMs = 2_000

const noLogs: Logs = { lines: [], isCut: false, error: undefined, isLoading: true }

/**
 * The output of a run as it comes, also after the server was away: then it is read anew. A run that
 * is over is read once.
 */
export function useLogs({ ID, State }: Pick<RunningProject, "ID" | "State">): Logs {
  const [logs, setLogs] = useState<Logs>(noLogs)
  const isFollowed = isLive(State)
  const state = useRef(State)
  state.current = State
  useEffect(() => {
    const abort = new AbortController()
    let waiting: LogLine[] = []
    let isAnew = true
    setLogs(noLogs)
    const draw = () => {
      const more = waiting.splice(0)
      if (more.length === 0) return
      const isFirst = isAnew
      isAnew = false
      setLogs((logs) => withLines(isFirst ? noLogs : logs, more))
    }
    const timer = setInterval(draw, drawMs)
    const read = async () => {
      const query = { ID, tail: maxLogLines, ...(isFollowed ? { follow: 1 } : {}) }
      for await (const line of await client.runLogs({ query, signal: abort.signal })) {
        waiting.push(line)
        if (waiting.length > maxLogLines) waiting = waiting.slice(-maxLogLines)
      }
    }
    const follow = async () => {
      while (!abort.signal.aborted) {
        const isCut = await read().then(
          // A server that stops ends the output of runs that go on.
          () => state.current === "ready",
          (error: unknown) => {
            if (!isFollowed || !isServerUnreachable(error)) throw error
            return true
          },
        )
        if (!isFollowed || !isCut) return
        await new Promise((resolve) => setTimeout(resolve, reconnectMs))
        isAnew = true
      }
    }
    follow()
      .catch((error: unknown) => {
        if (!abort.signal.aborted) setLogs((logs) => ({ ...logs, error }))
      })
      .finally(() => {
        if (abort.signal.aborted) return
        draw()
        setLogs((logs) => ({ ...logs, isLoading: false }))
      })
    return () => {
      abort.abort()
      clearInterval(timer)
    }
  }, [ID, isFollowed])
  return logs
}

function withLines(before: Logs, more: readonly LogLine[]): Logs {
  const lines = appendLines(before.lines, more)
  const isCut = before.isCut || lines.length < before.lines.length + more.length || lines.length === maxLogLines
  return { error: undefined, isLoading: false, lines, isCut }
}

/** A browser reports every lost connection as a `TypeError`. */
function isServerUnreachable(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Failure && error.status >= 500)
}
