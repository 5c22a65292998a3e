import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { type FormEvent, useState } from "react"
import type { User } from "#contract"
import { client } from "../../api/client.ts"
import { errorText } from "../../api/error-text.ts"
import { Button, IconButton } from "../../components/button.tsx"
import { Confirmations } from "../../components/confirmations.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { Menu } from "../../components/menu.tsx"
import { Dialog } from "../../components/overlays.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { PasswordField } from "./password-field.tsx"

const { people } = adminTexts

type DialogName = "password" | "disable" | "delete"

/** Everything that administrators do with an account. */
export function PersonActions({ user }: { user: User }) {
  const { ID, UserName } = user
  const [dialog, ask] = useState<DialogName>()
  const navigate = useNavigate()
  const change = useMutation({
    mutationFn: (fields: { IsAdmin?: boolean; IsDisabled?: boolean }) => client.updateUser({ body: { ID, ...fields } }),
    onSuccess: (after, fields) => showToast(doneText(after, fields)),
    onError: showError,
  })
  const remove = useMutation({
    mutationFn: () => client.deleteUser({ query: { ID } }),
    onSuccess: () => {
      showToast(people.deleted(UserName))
      void navigate({ to: "/people" })
    },
    onError: showError,
  })
  const close = () => ask(undefined)
  return (
    <>
      <Button onClick={() => ask("password")}>{people.resetPassword}</Button>
      <Button isBusy={change.isPending} onClick={() => (user.IsDisabled ? change.mutate({ IsDisabled: false }) : ask("disable"))}>
        {user.IsDisabled ? people.enable : people.disable}
      </Button>
      <Menu
        trigger={<IconButton label={people.more(UserName)} icon="more" kind="default" />}
        groups={[
          [
            {
              label: user.IsAdmin ? people.removeAdmin : people.makeAdmin,
              icon: "people",
              onSelect: () => change.mutate({ IsAdmin: !user.IsAdmin }),
            },
          ],
          [{ label: people.delete, icon: "trash", tone: "danger", onSelect: () => ask("delete") }],
        ]}
      />
      {dialog === "password" && <PasswordDialog user={user} onClose={close} />}
      <Confirmations
        shown={dialog === "password" ? undefined : dialog}
        onClose={close}
        confirmations={{
          disable: {
            title: people.disableTitle(UserName),
            text: people.disableText,
            action: people.disable,
            onConfirm: () => change.mutate({ IsDisabled: true }),
          },
          delete: {
            title: people.deleteTitle(UserName),
            text: people.deleteText,
            action: people.delete,
            onConfirm: () => remove.mutate(),
          },
        }}
      />
    </>
  )
}

function doneText({ UserName, IsAdmin, IsDisabled }: User, fields: { IsAdmin?: boolean }): string {
  if (fields.IsAdmin !== undefined) return people.adminDone(UserName, IsAdmin)
  return IsDisabled ? people.disabledDone(UserName) : people.enabledDone(UserName)
}

function PasswordDialog({ user: { ID, UserName }, onClose }: { user: User; onClose: () => void }) {
  const [password, setPassword] = useState("")
  const save = useMutation({
    mutationFn: () => client.updateUser({ body: { ID, Password: password } }),
    onSuccess: () => {
      showToast(people.resetDone(UserName))
      onClose()
    },
  })
  const fault = save.error ? errorText(save.error) : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Dialog title={people.resetTitle(UserName)} isOpen onClose={onClose}>
      <form onSubmit={submit} className="stack">
        <p>{people.resetText}</p>
        <PasswordField value={password} onValue={setPassword} error={fault?.field === "Password" ? fault.title : undefined} isRequired />
        {save.error && fault?.field !== "Password" && <ErrorState error={save.error} />}
        <div className="row row-end">
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={save.isPending}>
            {people.resetPassword}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
