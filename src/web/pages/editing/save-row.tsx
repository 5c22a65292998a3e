import { Failure } from "#contract"
import { LeaveGuard } from "../../app/leave-guard.tsx"
import { Button } from "../../components/button.tsx"
import { ErrorState, Note } from "../../components/feedback.tsx"
import { resourceTexts } from "../../text/resources.ts"

interface SaveRowProps {
  form: { error: Error | null; isChanged: boolean; hasConflict: boolean; saving: { isPending: boolean; isSuccess: boolean } }
}

/** The end of a form that changes an object: a refusal, and the button that saves. */
export function SaveRow({ form: { error, isChanged, hasConflict, saving } }: SaveRowProps) {
  const mayNot = error instanceof Failure && error.code === "forbidden"
  return (
    <div className="stack">
      <LeaveGuard isChanged={isChanged} saving={saving} />
      {error && <ErrorState error={error} />}
      {mayNot && <Note tone="warn">{resourceTexts.editing.noRightNow}</Note>}
      {hasConflict && <Note>{resourceTexts.editing.chooseFirst}</Note>}
      <div className="row">
        <Button type="submit" kind="primary" disabled={!isChanged || hasConflict} isBusy={saving.isPending}>
          {resourceTexts.editing.save}
        </Button>
        {!isChanged && <span className="quiet small">{resourceTexts.editing.unchanged}</span>}
      </div>
    </div>
  )
}
