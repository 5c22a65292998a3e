import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { type FormEvent, useState } from "react"
import { client } from "../../api/client.ts"
import { LeaveGuard } from "../../app/leave-guard.tsx"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { PageHeader } from "../../components/page.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { fieldError } from "../editing/field-error.ts"
import { isDeepEqual } from "../editing/merge.ts"
import { type GroupDraft, groupBody } from "./group-draft.ts"
import { GroupFields } from "./group-form.tsx"

const { groups } = resourceTexts
const emptyGroup: GroupDraft = { Comment: "", Members: "" }

export function NewGroupPage() {
  const [name, setName] = useState("")
  const [draft, setDraft] = useState(emptyGroup)
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: () => client.createGroup({ body: { GroupName: name.trim(), ...groupBody(draft) } }),
    onSuccess: ({ ID }) => void navigate({ to: "/groups/$id", params: { id: ID } }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <>
      <PageHeader title={groups.new} />
      <form className="form" onSubmit={submit} aria-label={groups.new}>
        <TextField
          label={groups.name}
          hint={groups.nameHint}
          value={name}
          onValue={setName}
          maxLength={64}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          required
          {...fieldError(create.error, "GroupName")}
        />
        <GroupFields draft={draft} onDraft={(fields) => setDraft((now) => ({ ...now, ...fields }))} error={create.error} />
        <LeaveGuard isChanged={name !== "" || !isDeepEqual(draft, emptyGroup)} saving={create} />
        {create.error && <ErrorState error={create.error} />}
        <div className="row">
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {groups.create}
          </Button>
        </div>
      </form>
    </>
  )
}
