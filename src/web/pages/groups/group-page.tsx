import { useMutation, useQuery } from "@tanstack/react-query"
import { useNavigate, useParams } from "@tanstack/react-router"
import { useState } from "react"
import type { Group } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Button } from "../../components/button.tsx"
import { Badge } from "../../components/feedback.tsx"
import { ConfirmDialog } from "../../components/overlays.tsx"
import { PageHeader, Section } from "../../components/page.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { UnlessGone } from "../editing/unless-gone.tsx"
import { GroupProjects, GroupShares } from "./group-shares.tsx"

const { groups } = resourceTexts

export function GroupPage() {
  const { id } = useParams({ from: "/shell/groups/$id" })
  const group = useQuery(apiQuery("readGroup", { query: { ID: id } }))
  const { data: person } = useQuery(apiQuery("whoami"))
  return (
    <UnlessGone query={group} back={<ButtonLink to="/groups">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => <GroupView group={data} isAdmin={person?.IsAdmin ?? false} />}
    </UnlessGone>
  )
}

function GroupView({ group, isAdmin }: { group: Group; isAdmin: boolean }) {
  const { Comment, GroupName, Members } = group
  return (
    <>
      <PageHeader title={GroupName} subtitle={Comment && <span className="wrap-anywhere">{Comment}</span>}>
        {isAdmin && <GroupActions group={group} />}
      </PageHeader>
      <div className="two-columns">
        <Section title={groups.members}>
          {Members.length === 0 ? (
            <p className="quiet">{groups.noMembers}</p>
          ) : (
            <div className="stack">
              <p className="quiet small">{groups.memberCount(Members.length)}</p>
              <ul className="row members">
                {Members.map((name) => (
                  <li key={name}>
                    <Badge>{name}</Badge>
                  </li>
                ))}
              </ul>
            </div>
          )}
        </Section>
        <GroupProjects groupName={GroupName} />
        <GroupShares groupName={GroupName} />
      </div>
    </>
  )
}

function GroupActions({ group: { ID, GroupName } }: { group: Group }) {
  const [isAsking, setAsking] = useState(false)
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => client.deleteGroup({ query: { ID } }),
    onSuccess: () => {
      showToast(groups.deleted(GroupName))
      void navigate({ to: "/groups" })
    },
    onError: showError,
  })
  return (
    <>
      <ButtonLink to="/groups/$id/edit" params={{ id: ID }} icon="edit">
        {resourceTexts.editing.edit}
      </ButtonLink>
      <Button kind="danger" icon="trash" isBusy={remove.isPending} onClick={() => setAsking(true)}>
        {groups.delete}
      </Button>
      <ConfirmDialog
        title={groups.deleteTitle(GroupName)}
        text={groups.deleteText}
        action={groups.delete}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => remove.mutate()}
      />
    </>
  )
}
