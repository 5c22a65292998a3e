import { useEffect, useState } from "react"
import { isLive, type LogLine, type RunningProject } from "#contract"
import { client } from "../../api/client.ts"
import { appendLines, maxLogLines } from "./log-lines.ts"

export interface Logs {
  lines: readonly LogLine[]
  error: unknown
  isLoading: boolean
}

/** Lines are drawn at most this often, however fast the program prints. */
const drawMs = 100

/** The output of a run as it comes. A run that is over is read once. */
export function useLogs({ ID, State }: Pick<RunningProject, "ID" | "State">): Logs {
  const [logs, setLogs] = useState<Logs>({ lines: [], error: undefined, isLoading: true })
  const isFollowed = isLive(State)
  useEffect(() => {
    const abort = new AbortController()
    let waiting: LogLine[] = []
    setLogs({ lines: [], error: undefined, isLoading: true })
    const draw = () => {
      const more = waiting.splice(0)
      if (more.length > 0) setLogs((logs) => ({ ...logs, isLoading: false, lines: appendLines(logs.lines, more) }))
    }
    const timer = setInterval(draw, drawMs)
    const read = async () => {
      const query = { ID, tail: maxLogLines, ...(isFollowed ? { follow: 1 } : {}) }
      for await (const line of await client.runLogs({ query, signal: abort.signal })) {
        waiting.push(line)
        if (waiting.length > maxLogLines) waiting = waiting.slice(-maxLogLines)
      }
    }
    read()
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
