import { useMutation, useQuery } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { type FormEvent, useState } from "react"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { LeaveGuard } from "../../app/leave-guard.tsx"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { isDeepEqual } from "../editing/merge.ts"
import { emptyImage, newImageBody } from "./image-draft.ts"
import { ImageFields } from "./image-form.tsx"

export function NewImagePage() {
  const { data: person } = useQuery(apiQuery("whoami"))
  const [draft, setDraft] = useState(emptyImage)
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: () => client.createImage({ body: newImageBody(draft) }),
    onSuccess: ({ ID }) => void navigate({ to: "/images/$id", params: { id: ID } }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <>
      <PageHeader title={resourceTexts.images.new} />
      <form className="form" onSubmit={submit} aria-label={resourceTexts.images.new}>
        <ImageFields
          draft={draft}
          onDraft={(fields) => setDraft((now) => ({ ...now, ...fields }))}
          error={create.error}
          isAdmin={person?.IsAdmin ?? false}
        />
        <LeaveGuard isChanged={!isDeepEqual(draft, emptyImage)} saving={create} />
        {create.error && <ErrorState error={create.error} />}
        <div className="row">
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {resourceTexts.editing.create}
          </Button>
        </div>
      </form>
    </>
  )
}
