import { useQuery } from "@tanstack/react-query"
import { useNavigate, useParams } from "@tanstack/react-router"
import { useMemo } from "react"
import type { Group } from "#contract"
import { client } from "../../api/client.ts"
import { ifMatch, type Versioned, versionedQuery } from "../../api/versioned.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { PageHeader } from "../../components/page.tsx"
import { showToast } from "../../components/toast.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { EditForm } from "../editing/edit-form.tsx"
import { FormUnlessGone } from "../editing/unless-gone.tsx"
import { useEditing } from "../editing/use-editing.ts"
import { groupBody, groupDraftOf } from "./group-draft.ts"
import { GroupFields } from "./group-form.tsx"

const { groups } = resourceTexts
const labels = { Comment: groups.comment, Members: groups.members }

export function EditGroupPage() {
  const { id } = useParams({ from: "/shell/groups/$id/edit" })
  const group = useQuery(versionedQuery("readGroup", id))
  return (
    <FormUnlessGone query={group} back={<ButtonLink to="/groups">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => <EditGroup key={id} group={data} />}
    </FormUnlessGone>
  )
}

function EditGroup({ group: { value, etag } }: { group: Versioned<Group> }) {
  const navigate = useNavigate()
  const latest = useMemo(() => groupDraftOf(value), [value])
  const { ID, GroupName } = value
  const form = useEditing({
    latest,
    etag,
    operation: "readGroup",
    save: (changes, version) => client.updateGroup({ body: { ID, ...groupBody(changes) }, headers: ifMatch(version) }),
    onSaved: () => {
      showToast(resourceTexts.editing.saved(GroupName))
      void navigate({ to: "/groups/$id", params: { id: ID } })
    },
  })
  return (
    <>
      <PageHeader title={groups.edit(GroupName)} />
      <EditForm form={form} labels={labels} className="form" aria-label={groups.edit(GroupName)}>
        <GroupFields draft={form.editing.draft} onDraft={form.set} error={form.error} />
      </EditForm>
    </>
  )
}
