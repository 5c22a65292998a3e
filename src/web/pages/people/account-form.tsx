import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import type { User } from "#contract"
import { client } from "../../api/client.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import "./people.css"

const { people } = adminTexts

export function AccountForm({ user }: { user: User }) {
  const [Email, setEmail] = useState(user.Email)
  const [Comment, setComment] = useState(user.Comment)
  const save = useMutation({
    mutationFn: () => client.updateUser({ body: { ID: user.ID, Email, Comment } }),
    onSuccess: () => showToast(texts.common.saved),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form onSubmit={submit} className="stack narrow-form" aria-label={people.personTabs.account}>
      <TextField label={people.email} value={Email} onValue={setEmail} type="email" maxLength={320} autoComplete="off" />
      <TextField label={people.comment} value={Comment} onValue={setComment} autoComplete="off" />
      {save.error && <ErrorState error={save.error} />}
      <div className="row">
        <Button type="submit" kind="primary" isBusy={save.isPending}>
          {texts.common.save}
        </Button>
      </div>
    </form>
  )
}
