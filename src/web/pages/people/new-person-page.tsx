import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import type { User } from "#contract"
import { client } from "../../api/client.ts"
import { errorText } from "../../api/error-text.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { LeaveGuard } from "../../app/leave-guard.tsx"
import { Button } from "../../components/button.tsx"
import { Checkbox } from "../../components/checkbox.tsx"
import { ErrorState, Note } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { PageHeader } from "../../components/page.tsx"
import { CopyButton } from "../../components/values.tsx"
import { adminTexts } from "../../text/administration.ts"
import { isDeepEqual } from "../editing/merge.ts"
import { PasswordField } from "./password-field.tsx"
import "./people.css"

const { people } = adminTexts
const empty = { UserName: "", Password: "", Email: "", Comment: "", IsAdmin: false }

export function NewPersonPage() {
  const [made, setMade] = useState<{ user: User; password: string } | null>(null)
  return (
    <>
      <PageHeader title={people.add} />
      {made ? <Created {...made} onAnother={() => setMade(null)} /> : <NewPersonForm onMade={setMade} />}
    </>
  )
}

function NewPersonForm({ onMade }: { onMade: (made: { user: User; password: string }) => void }) {
  const [person, setPerson] = useState(empty)
  const create = useMutation({
    mutationFn: () => client.createUser({ body: person }),
    onSuccess: (user) => onMade({ user, password: person.Password }),
  })
  const fault = create.error ? errorText(create.error) : undefined
  const errorOf = (field: keyof typeof empty) => (fault?.field === field ? fault.title : undefined)
  const field = (name: "UserName" | "Email" | "Comment") => ({
    value: person[name],
    onValue: (value: string) => setPerson({ ...person, [name]: value }),
    error: errorOf(name),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <form onSubmit={submit} className="stack narrow-form">
      <TextField
        label={people.userName}
        hint={people.userNameHint}
        {...field("UserName")}
        required
        autoFocus
        maxLength={64}
        autoComplete="off"
      />
      <PasswordField value={person.Password} onValue={(Password) => setPerson({ ...person, Password })} error={errorOf("Password")} />
      <p className="field-hint">{people.passwordHint}</p>
      <TextField label={people.email} {...field("Email")} type="email" maxLength={320} autoComplete="off" />
      <TextField label={people.comment} {...field("Comment")} autoComplete="off" />
      <Checkbox
        label={people.isAdmin}
        hint={people.isAdminHint}
        isChecked={person.IsAdmin}
        onChecked={(IsAdmin) => setPerson({ ...person, IsAdmin })}
      />
      <LeaveGuard isChanged={!isDeepEqual(person, empty)} saving={create} />
      {create.error && !(fault?.field && fault.field in empty) && <ErrorState error={create.error} />}
      <div className="row">
        <Button type="submit" kind="primary" isBusy={create.isPending}>
          {people.create}
        </Button>
      </div>
    </form>
  )
}

function Created({ user, password, onAnother }: { user: User; password: string; onAnother: () => void }) {
  const address = `${location.origin}/`
  return (
    <div className="stack narrow-form">
      <Note tone="good" role="status">
        <div className="grow">
          <strong>{people.created(user.UserName)}</strong>
          {password !== "" && <p>{people.createdHint}</p>}
        </div>
        {password !== "" && <CopyButton text={people.invitation(address, user.UserName, password)} label={people.copyInvitation} />}
      </Note>
      {password !== "" && <pre className="code-block">{people.invitation(address, user.UserName, password)}</pre>}
      <div className="row">
        <ButtonLink to="/people/$id" params={{ id: user.ID }} kind="primary">
          {people.show(user.UserName)}
        </ButtonLink>
        <Button onClick={onAnother}>{people.addAnother}</Button>
      </div>
    </div>
  )
}
