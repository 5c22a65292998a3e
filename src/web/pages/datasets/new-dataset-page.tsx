import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { type FormEvent, useState } from "react"
import { client } from "../../api/client.ts"
import { LeaveGuard } from "../../app/leave-guard.tsx"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { isDeepEqual } from "../editing/merge.ts"
import { emptyDataset } from "./dataset-draft.ts"
import { DatasetFields } from "./dataset-form.tsx"

const { datasets, editing } = resourceTexts

export function NewDatasetPage() {
  const [draft, setDraft] = useState(emptyDataset)
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: () => client.createData({ body: draft }),
    onSuccess: ({ ID }) => void navigate({ to: "/datasets/$id", params: { id: ID } }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <>
      <PageHeader title={datasets.new} />
      <form className="form" onSubmit={submit} aria-label={datasets.new}>
        <DatasetFields draft={draft} onDraft={(fields) => setDraft((now) => ({ ...now, ...fields }))} error={create.error} />
        <LeaveGuard isChanged={!isDeepEqual(draft, emptyDataset)} saving={create} />
        {create.error && <ErrorState error={create.error} />}
        <div className="row">
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {editing.create}
          </Button>
        </div>
      </form>
    </>
  )
}
