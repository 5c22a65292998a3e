import { type FormEvent, useState } from "react"
import { Failure, type Whoami } from "#contract"
import { installation } from "../api/installation.ts"
import { Button, LinkButton } from "../components/button.tsx"
import { ErrorState } from "../components/feedback.tsx"
import { TextField } from "../components/fields.tsx"
import { texts } from "../text/index.ts"
import { signIn } from "./session.ts"

interface SignInFormProps {
  onSignedIn: (person: Whoami) => void
  /** The address to which an OpenID provider leads back. */
  next: string
  /** The provider opens beside this page. */
  isNewTab?: boolean
}

export function SignInForm({ onSignedIn, next, isNewTab = false }: SignInFormProps) {
  const [userName, setUserName] = useState("")
  const [password, setPassword] = useState("")
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      onSignedIn(await signIn(userName, password))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const { openId } = installation
  return (
    <form className="stack" onSubmit={(event) => void submit(event)}>
      <TextField
        label={texts.session.userName}
        name="UserName"
        value={userName}
        onValue={setUserName}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        autoFocus
        required
      />
      <TextField
        label={texts.session.password}
        name="Password"
        type="password"
        value={password}
        onValue={setPassword}
        autoComplete="current-password"
        required
      />
      {error !== undefined && <ErrorState error={error} hint={isWrong(error) ? texts.session.wrongHint : undefined} />}
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {texts.session.signIn}
      </Button>
      {openId && (
        <LinkButton href={`${openId.href}?${new URLSearchParams({ next })}`} {...(isNewTab ? { target: "_blank" } : {})}>
          {texts.session.signInWith(openId.name)}
        </LinkButton>
      )}
    </form>
  )
}

function isWrong(error: unknown): boolean {
  return error instanceof Failure && error.code === "unauthorized"
}
