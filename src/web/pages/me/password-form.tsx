import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import type { User } from "#contract"
import { client } from "../../api/client.ts"
import { errorText } from "../../api/error-text.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import "../people/people.css"

const { me } = adminTexts
const empty = { current: "", next: "", repeat: "" }

export function PasswordForm({ user }: { user: User }) {
  const [values, setValues] = useState(empty)
  const save = useMutation({
    mutationFn: () => client.updateUser({ body: { ID: user.ID, Password: values.next, CurrentPassword: values.current } }),
    onSuccess: () => {
      setValues(empty)
      showToast(me.changed)
    },
  })
  const fault = save.error ? errorText(save.error) : undefined
  const isDifferent = values.repeat !== "" && values.repeat !== values.next
  const field = (name: keyof typeof empty) => ({
    label: me[name],
    value: values[name],
    onValue: (value: string) => setValues({ ...values, [name]: value }),
    type: "password",
    required: true,
    maxLength: 1024,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (values.next === values.repeat) save.mutate()
  }
  const isShown = fault?.field === "CurrentPassword" || fault?.field === "Password"
  return (
    <form onSubmit={submit} className="stack narrow-form" aria-label={me.change}>
      <input type="text" autoComplete="username" value={user.UserName} readOnly hidden />
      <TextField
        {...field("current")}
        autoComplete="current-password"
        hint={me.noPassword}
        error={fault?.field === "CurrentPassword" ? fault.title : undefined}
      />
      <TextField {...field("next")} autoComplete="new-password" error={fault?.field === "Password" ? fault.title : undefined} />
      <TextField {...field("repeat")} autoComplete="new-password" error={isDifferent ? me.differs : undefined} />
      <p className="field-hint">{me.changeHint}</p>
      {save.error && !isShown && <ErrorState error={save.error} />}
      <div className="row">
        <Button type="submit" kind="primary" isBusy={save.isPending} disabled={isDifferent}>
          {me.change}
        </Button>
      </div>
    </form>
  )
}
