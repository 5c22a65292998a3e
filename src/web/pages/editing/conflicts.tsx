import { Button } from "../../components/button.tsx"
import { Note } from "../../components/feedback.tsx"
import { LongText } from "../../components/long-text/long-text.tsx"
import { Section } from "../../components/page.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { type Editing, resolveConflict } from "./merge.ts"
import "./editing.css"

interface ConflictsProps<D extends object> {
  editing: Editing<D>
  onEditing: (editing: Editing<D>) => void
  labels: { readonly [K in keyof D]: string }
}

/** The fields that two people changed at once, each with both values and a choice. */
export function Conflicts<D extends object>({ editing, onEditing, labels }: ConflictsProps<D>) {
  const names = Object.keys(editing.theirs) as (keyof D & string)[]
  const { taken } = editing
  return (
    <>
      {taken.length > 0 && <Note role="status">{resourceTexts.editing.taken(taken.map((name) => labels[name]).join(", "))}</Note>}
      {names.length > 0 && (
        <Note tone="warn" role="alert">
          <div className="grow">
            <strong>{resourceTexts.editing.conflictTitle}</strong>
            <p>{resourceTexts.editing.conflictText}</p>
          </div>
        </Note>
      )}
      {names.map((name) => (
        <Section key={name} title={labels[name]}>
          <div className="conflict">
            <Version
              title={resourceTexts.editing.theirs}
              value={editing.theirs[name]}
              action={resourceTexts.editing.takeTheirs}
              onChoose={() => onEditing(resolveConflict(editing, name, "theirs"))}
            />
            <Version
              title={resourceTexts.editing.mine}
              value={editing.draft[name]}
              action={resourceTexts.editing.keepMine}
              onChoose={() => onEditing(resolveConflict(editing, name, "mine"))}
            />
          </div>
        </Section>
      ))}
    </>
  )
}

function Version({ title, value, action, onChoose }: { title: string; value: unknown; action: string; onChoose: () => void }) {
  return (
    <div className="card">
      <h3>{title}</h3>
      <pre className="code-block" data-wrap="">
        <LongText text={plainText(value)} />
      </pre>
      <div className="row">
        <Button size="small" onClick={onChoose}>
          {action}
        </Button>
      </div>
    </div>
  )
}

function plainText(value: unknown): string {
  if (value === "" || value === null || value === undefined) return resourceTexts.editing.empty
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2)
}
