import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import type { User } from "#contract"
import { client } from "../../api/client.ts"
import { ifMatch, type Versioned, versionedQuery } from "../../api/versioned.ts"
import { Loaded } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { EditForm } from "../editing/edit-form.tsx"
import { useEditing } from "../editing/use-editing.ts"
import "./people.css"

const { people } = adminTexts

/** Begins again after each save: the form stays on the page. */
export function AccountForm({ id }: { id: number }) {
  const user = useQuery(versionedQuery("readUser", id))
  const cache = useQueryClient()
  const [saves, setSaves] = useState(0)
  const beginAgain = () => void cache.invalidateQueries({ queryKey: ["readUser"] }).then(() => setSaves((before) => before + 1))
  return (
    <Loaded query={user} height={8}>
      {(data) => <AccountFields key={saves} user={data} onSaved={beginAgain} />}
    </Loaded>
  )
}

const labels = { Email: people.email, Comment: people.comment }

function AccountFields({ user: { value, etag }, onSaved }: { user: Versioned<User>; onSaved: () => void }) {
  const { ID, Email, Comment } = value
  const latest = useMemo(() => ({ Email, Comment }), [Email, Comment])
  const form = useEditing({
    latest,
    etag,
    operation: "readUser",
    save: (changes, version) => client.updateUser({ body: { ID, ...changes }, headers: ifMatch(version) }),
    onSaved: () => {
      showToast(texts.common.saved)
      onSaved()
    },
  })
  const { draft } = form.editing
  return (
    <EditForm form={form} labels={labels} className="stack narrow-form" aria-label={people.personTabs.account}>
      <TextField
        label={people.email}
        value={draft.Email}
        onValue={(next) => form.set({ Email: next })}
        type="email"
        maxLength={320}
        autoComplete="off"
      />
      <TextField label={people.comment} value={draft.Comment} onValue={(next) => form.set({ Comment: next })} autoComplete="off" />
    </EditForm>
  )
}
