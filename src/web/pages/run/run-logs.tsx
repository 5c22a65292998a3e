import { useEffect, useRef, useState } from "react"
import type { LogLine, RunningProject } from "#contract"
import { client } from "../../api/client.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { SearchField } from "../../components/fields.tsx"
import { LongText } from "../../components/long-text/long-text.tsx"
import { showError } from "../../components/toast.tsx"
import { texts } from "../../text/index.ts"
import { matchingLines, plainLine } from "./log-lines.ts"
import { useLogs } from "./use-logs.ts"

/** The program's output: follows, searches, wraps, downloads. */
export function RunLogs({ run }: { run: RunningProject }) {
  const { lines, isCut, error, isLoading } = useLogs(run)
  const [searchText, setSearchText] = useState("")
  const [isWrapped, setWrapped] = useState(true)
  const [isFollowing, setFollowing] = useState(true)
  const shown = matchingLines(lines, searchText)
  const { logs } = texts.run
  return (
    <div className="log-view">
      <div className="row">
        <SearchField label={logs.search} value={searchText} onValue={setSearchText} />
        {searchText.trim() !== "" && <span className="quiet small">{logs.matches(shown.length)}</span>}
        <Toggle label={logs.follow} isOn={isFollowing} onToggle={setFollowing} />
        <Toggle label={logs.wrap} isOn={isWrapped} onToggle={setWrapped} />
        <Button size="small" icon="download" onClick={() => void download(run.ID).catch(showError)}>
          {logs.download}
        </Button>
      </div>
      {error !== undefined && <ErrorState error={error} />}
      {isCut && <p className="quiet small">{logs.cut(lines.length)}</p>}
      {lines.length === 0 && !isLoading && error === undefined ? (
        <p className="quiet">{logs.empty}</p>
      ) : (
        <LogLines lines={shown} isWrapped={isWrapped} isFollowing={isFollowing} onScrollUp={() => setFollowing(false)} />
      )}
    </div>
  )
}

function Toggle({ label, isOn, onToggle }: { label: string; isOn: boolean; onToggle: (isOn: boolean) => void }) {
  return (
    <label className="row small">
      <input type="checkbox" checked={isOn} onChange={(event) => onToggle(event.target.checked)} />
      {label}
    </label>
  )
}

interface LogLinesProps {
  lines: readonly LogLine[]
  isWrapped: boolean
  isFollowing: boolean
  onScrollUp: () => void
}

function LogLines({ lines, isWrapped, isFollowing, onScrollUp }: LogLinesProps) {
  const frame = useRef<HTMLPreElement>(null)
  const scrolledTo = useRef(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines scroll the frame
  useEffect(() => {
    if (!isFollowing) return
    let handle = 0
    // Lines get their height once they are seen, which takes two frames.
    const scroll = (framesLeft: number) => {
      if (frame.current) frame.current.scrollTop = frame.current.scrollHeight
      if (framesLeft > 0) handle = requestAnimationFrame(() => scroll(framesLeft - 1))
    }
    scroll(2)
    return () => cancelAnimationFrame(handle)
  }, [lines, isFollowing])
  return (
    <pre
      ref={frame}
      className="code-block"
      role="log"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
      tabIndex={0}
      aria-label={texts.run.tabs.logs}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        const isAtEnd = scrollTop + clientHeight >= scrollHeight - 1
        if (scrollTop < scrolledTo.current - 1 && !isAtEnd) onScrollUp()
        scrolledTo.current = scrollTop
      }}
      {...(isWrapped ? { "data-wrap": "" } : {})}
    >
      {lines.map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
        <div key={i} className="log-line" data-stream={line.stream} title={line.time}>
          <LongText text={plainLine(line.text) || "\u200b"} />
        </div>
      ))}
    </pre>
  )
}

/** Saves the whole output that the server has. */
async function download(id: number): Promise<void> {
  const parts: string[] = []
  for await (const { time, stream, text } of await client.runLogs({ query: { ID: id } })) parts.push(`${time} ${stream} ${text}\n`)
  const url = URL.createObjectURL(new Blob(parts, { type: "text/plain" }))
  Object.assign(document.createElement("a"), { href: url, download: `run-${id}.log` }).click()
  URL.revokeObjectURL(url)
}
