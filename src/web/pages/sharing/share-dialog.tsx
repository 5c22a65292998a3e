import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import { client } from "../../api/client.ts"
import { toDateInput } from "../../api/formats.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { Select, TextField } from "../../components/fields.tsx"
import { Dialog } from "../../components/overlays.tsx"
import { showToast } from "../../components/toast.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { fieldError } from "../editing/field-error.ts"
import { AccessList } from "./access-list.tsx"
import { type Access, accessesOf, endOfDay, kindOf, type ShareKind, type ShareTarget } from "./share.ts"
import "../editing/editing.css"

/** A button that opens the dialog in which its owner shares an object and takes shares back. */
export function ShareButton({ target, name }: { target: ShareTarget; name: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button icon="share" onClick={() => setOpen(true)}>
        {resourceTexts.sharing.share}
      </Button>
      <Dialog title={resourceTexts.sharing.title(name)} isOpen={isOpen} onClose={() => setOpen(false)} size="wide">
        <ShareForm target={target} />
        <h3>{resourceTexts.sharing.access}</h3>
        <AccessList target={target} canRevoke={true} />
      </Dialog>
    </>
  )
}

function ShareForm({ target }: { target: ShareTarget }) {
  const { sharing } = resourceTexts
  const kind = kindOf(target)
  const [grantee, setGrantee] = useState<"UserName" | "GroupName">("UserName")
  const [name, setName] = useState("")
  const [access, setAccess] = useState<Access>(kind === "data" ? "read" : "use")
  const [day, setDay] = useState("")
  const share = useMutation({
    mutationFn: () => client.createGrant({ body: { ...target, [grantee]: name.trim(), Access: access, Until: endOfDay(day) ?? null } }),
    onSuccess: () => {
      showToast(sharing.shared(name.trim()))
      setName("")
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    share.mutate()
  }
  const ofName = fieldError(share.error, grantee)
  return (
    <form className="stack" onSubmit={submit}>
      <div className="form-columns">
        <Select
          label={sharing.with}
          value={grantee}
          onValue={setGrantee}
          options={[
            { value: "UserName", label: sharing.person },
            { value: "GroupName", label: sharing.groupKind },
          ]}
        />
        <TextField
          label={grantee === "UserName" ? sharing.userName : sharing.groupName}
          value={name}
          onValue={setName}
          maxLength={64}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          required
          {...ofName}
        />
        <RightFields kind={kind} access={access} onAccess={setAccess} day={day} onDay={setDay} />
      </div>
      {share.error && ofName.error === undefined && <ErrorState error={share.error} />}
      <div className="row">
        <Button type="submit" kind="primary" isBusy={share.isPending}>
          {sharing.share}
        </Button>
      </div>
    </form>
  )
}

interface RightFieldsProps {
  kind: ShareKind
  access: Access
  onAccess: (access: Access) => void
  day: string
  onDay: (day: string) => void
}

function RightFields({ kind, access, onAccess, day, onDay }: RightFieldsProps) {
  const { sharing } = resourceTexts
  return (
    <>
      <Select
        label={sharing.right}
        value={access}
        onValue={onAccess}
        options={accessesOf(kind).map((value) => ({ value, label: sharing.rights[kind][value] }))}
      />
      <TextField
        label={sharing.until}
        hint={sharing.untilHint}
        type="date"
        value={day}
        onValue={onDay}
        min={toDateInput(new Date())}
        max="9999-12-30"
      />
    </>
  )
}
