import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import type { User } from "#contract"
import { client } from "../../api/client.ts"
import { errorText } from "../../api/error-text.ts"
import { signOut } from "../../app/session.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { Section } from "../../components/page.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import "../people/people.css"

const { me } = adminTexts

export function Sessions({ user }: { user: User }) {
  const leave = useMutation({ mutationFn: () => signOut({ everywhere: true }), onError: showError })
  return (
    <>
      <p className="quiet">{me.sessionsText}</p>
      <div className="section-gap">
        <Section title={me.endOthers}>
          <EndOthers user={user} />
        </Section>
        <Section title={me.endAll}>
          <div className="stack">
            <p>{me.endAllText}</p>
            <div className="row">
              <Button kind="danger" isBusy={leave.isPending} onClick={() => leave.mutate()}>
                {me.endAll}
              </Button>
            </div>
          </div>
        </Section>
      </div>
    </>
  )
}

/** Setting a password ends the other sessions, also if it is the same as before. */
function EndOthers({ user }: { user: User }) {
  const [password, setPassword] = useState("")
  const end = useMutation({
    mutationFn: () => client.updateUser({ body: { ID: user.ID, Password: password, CurrentPassword: password } }),
    onSuccess: () => {
      setPassword("")
      showToast(me.endedOthers)
    },
  })
  const fault = end.error ? errorText(end.error) : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    end.mutate()
  }
  return (
    <form onSubmit={submit} className="stack narrow-form" aria-label={me.endOthers}>
      <p>{me.endOthersText}</p>
      <input type="text" autoComplete="username" value={user.UserName} readOnly hidden />
      <TextField
        label={me.current}
        value={password}
        onValue={setPassword}
        type="password"
        required
        maxLength={1024}
        autoComplete="current-password"
        error={fault?.field === "CurrentPassword" ? fault.title : undefined}
      />
      {end.error && fault?.field !== "CurrentPassword" && <ErrorState error={end.error} />}
      <div className="row">
        <Button type="submit" isBusy={end.isPending}>
          {me.endOthers}
        </Button>
      </div>
    </form>
  )
}
