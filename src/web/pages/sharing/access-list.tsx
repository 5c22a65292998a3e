import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { Grant } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { Badge, Loaded } from "../../components/feedback.tsx"
import { Pager } from "../../components/table.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { RelativeTime, useNow } from "../../components/values.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { kindOf, type ShareTarget } from "./share.ts"

/** The first page of an object's shares: the rights of the reader are among them. */
export function grantsQuery(target: ShareTarget, page = 1) {
  return apiQuery("listGrants", { query: { ...target, page, pageSize: 50 } })
}

/** The people and groups with whom an object is shared, until when, and what takes it back. */
export function AccessList({ target, canRevoke }: { target: ShareTarget; canRevoke: boolean }) {
  const [page, setPage] = useState(1)
  const grants = useQuery({ ...grantsQuery(target, page), placeholderData: keepPreviousData })
  return (
    <Loaded query={grants} height={3}>
      {({ data, pageCount }) =>
        data.length === 0 ? (
          <p className="quiet">{resourceTexts.sharing.nobody}</p>
        ) : (
          <div>
            <ul className="list">
              {data.map((grant) => (
                <GrantRow key={grant.ID} grant={grant} target={target} canRevoke={canRevoke} />
              ))}
            </ul>
            {pageCount > 1 && <Pager page={page} pageCount={pageCount} onPage={setPage} />}
          </div>
        )
      }
    </Loaded>
  )
}

function GrantRow({ grant, target, canRevoke }: { grant: Grant; target: ShareTarget; canRevoke: boolean }) {
  const { sharing } = resourceTexts
  const now = useNow()
  const name = grant.UserName || grant.GroupName
  const revoke = useMutation({
    mutationFn: () => client.deleteGrant({ query: { ID: grant.ID } }),
    onSuccess: () => showToast(sharing.revoked(name)),
    onError: showError,
  })
  return (
    <li>
      <div className="grow">
        <div className="row">
          <span className="card-title">{name}</span>
          {grant.GroupName !== "" && <Badge>{sharing.groupKind}</Badge>}
        </div>
        <p className="quiet small">
          {sharing.rights[kindOf(target)][grant.Access]} ·{" "}
          {grant.Until === null ? (
            sharing.noEnd
          ) : (
            <>
              {Date.parse(grant.Until) > now.getTime() ? sharing.ends : sharing.ended} <RelativeTime value={grant.Until} />
            </>
          )}
        </p>
      </div>
      {canRevoke && (
        <Button size="small" isBusy={revoke.isPending} onClick={() => revoke.mutate()} aria-label={`${sharing.revoke}: ${name}`}>
          {sharing.revoke}
        </Button>
      )}
    </li>
  )
}
