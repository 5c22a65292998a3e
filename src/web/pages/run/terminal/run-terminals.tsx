import { useEffect, useLayoutEffect, useRef, useState } from "react"
import type { RunningProject } from "#contract"
import { Button } from "../../../components/button.tsx"
import { Note } from "../../../components/feedback.tsx"
import { Tabs } from "../../../components/page.tsx"
import { texts } from "../../../text/index.ts"
import type { ShellTerminal } from "./shell-terminal.ts"
import { type ChannelState, Terminals, type TerminalsView } from "./terminals.ts"
import "./terminal.css"

const { terminal } = texts.run

/** The terminals of a run that the person may control. */
export function RunTerminals({ run }: { run: RunningProject }) {
  const [view, setView] = useState<TerminalsView>({ channel: "connecting", shells: [] })
  const [selected, setSelected] = useState("")
  const terminals = useRef<Terminals>(undefined)
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const onLeave = () => frame.current?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus()
    const opened = new Terminals({ url: run.ControlURL, runId: run.ID, onView: setView, onLeave })
    terminals.current = opened
    return () => opened.close()
  }, [run.ControlURL, run.ID])
  const shown = view.shells.find(({ number }) => `${number}` === selected) ?? view.shells[0]
  const add = () => {
    const shell = terminals.current?.add()
    if (!shell) return
    setSelected(`${shell.number}`)
    // Its place in the page exists after the next render.
    requestAnimationFrame(() => shell.screen.focus())
  }
  return (
    <div className="terminals" ref={frame}>
      <div className="row">
        <Button size="small" icon="plus" onClick={add}>
          {terminal.add}
        </Button>
        {shown && (
          <Button size="small" icon="close" onClick={() => terminals.current?.end(shown)}>
            {terminal.end(shown.number)}
          </Button>
        )}
        <span className="quiet small">{terminal.leave}</span>
      </div>
      <ChannelNote channel={view.channel} onRetry={() => terminals.current?.retryNow()} />
      {shown ? (
        <Tabs
          value={`${shown.number}`}
          onValue={setSelected}
          tabs={view.shells.map((shell) => ({
            value: `${shell.number}`,
            label: terminal.name(shell.number),
            content: () => <ShellView key={shell.number} shell={shell} onAttach={() => terminals.current?.attach(shell)} />,
          }))}
        />
      ) : (
        <p className="quiet">{terminal.none}</p>
      )}
    </div>
  )
}

function ChannelNote({ channel, onRetry }: { channel: ChannelState; onRetry: () => void }) {
  if (channel === "open" || channel === "connecting") return null
  return (
    <Note tone={channel === "revoked" ? "bad" : "warn"} role="status">
      <span className="grow">{terminal.channelStates[channel]}</span>
      <Button size="small" onClick={onRetry}>
        {texts.common.retry}
      </Button>
    </Note>
  )
}

function ShellView({ shell, onAttach }: { shell: ShellTerminal; onAttach: () => void }) {
  const place = useRef<HTMLDivElement>(null)
  const { state } = shell
  useLayoutEffect(() => {
    if (place.current) shell.screen.attachTo(place.current)
  }, [shell])
  return (
    <>
      {state.kind === "over" && (
        <Note tone="warn" role="status">
          <span className="grow">{state.text}</span>
          {state.canAttach && (
            <Button size="small" onClick={onAttach}>
              {terminal.attach}
            </Button>
          )}
        </Note>
      )}
      <div className="terminal-place" ref={place} />
    </>
  )
}
