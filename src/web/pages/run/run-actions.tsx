import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Failure, type RunningProject } from "#contract"
import { updateCachedRun } from "../../api/cached-run.ts"
import { client } from "../../api/client.ts"
import { canDo } from "../../api/run-actions.ts"
import { projectName } from "../../api/run-names.ts"
import { Button, LinkButton } from "../../components/button.tsx"
import { ConfirmDialog } from "../../components/overlays.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { texts } from "../../text/index.ts"

/** The buttons of everything that can be done with a run in its state. */
export function RunActions({ run, size = "default" }: { run: RunningProject; size?: "default" | "small" }) {
  return (
    <div className="row">
      {canDo("open", run) && run.URL !== "" && (
        <LinkButton href={`/open?ID=${run.ID}`} target="_blank" kind="primary" size={size} icon="open">
          {texts.run.open}
        </LinkButton>
      )}
      {canDo("stop", run) && <StopButton run={run} size={size} />}
      {canDo("repeat", run) && <RepeatButton run={run} size={size} />}
    </div>
  )
}

function StopButton({ run, size }: { run: RunningProject; size: "default" | "small" }) {
  const [isAsking, setAsking] = useState(false)
  const name = projectName(run)
  const stop = useMutation({ mutationFn: () => client.stopRun({ query: { ID: run.ID } }), onError: showError })
  return (
    <>
      <Button size={size} icon="stop" isBusy={stop.isPending} onClick={() => (run.State === "ready" ? setAsking(true) : stop.mutate())}>
        {stop.isPending ? texts.run.stopping : texts.run.stop}
      </Button>
      <ConfirmDialog
        title={texts.run.stopTitle(name)}
        text={texts.run.stopText}
        action={texts.run.stop}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => stop.mutate()}
      />
    </>
  )
}

function RepeatButton({ run, size }: { run: RunningProject; size: "default" | "small" }) {
  const navigate = useNavigate()
  const show = (id: number) => void navigate({ to: "/runs/$id", params: { id } })
  const repeat = useMutation({
    mutationFn: () => client.repeatRun({ query: { ID: run.ID }, headers: { prefer: "respond-async" } }),
    onSuccess: ({ ID }) => show(ID),
    onError: (error) => {
      const id = failedRunId(error)
      if (id === undefined) showError(error)
      else show(id)
    },
  })
  return (
    <Button size={size} icon="repeat" isBusy={repeat.isPending} onClick={() => repeat.mutate()}>
      {texts.run.repeat}
    </Button>
  )
}

/** The run that a refused start left, whose page says why, or the run that is there already. */
export function failedRunId(error: unknown): number | undefined {
  const id = error instanceof Failure ? error.extra.ID : undefined
  return typeof id === "number" ? id : undefined
}

export function KeepRunningButton({ run }: { run: RunningProject }) {
  const keep = useMutation({
    mutationFn: () => client.keepRun({ query: { ID: run.ID } }),
    onSuccess: (kept) => {
      updateCachedRun(kept)
      showToast(texts.run.kept)
    },
    onError: showError,
  })
  return (
    <Button size="small" icon="clock" isBusy={keep.isPending} onClick={() => keep.mutate()}>
      {texts.run.keep}
    </Button>
  )
}
