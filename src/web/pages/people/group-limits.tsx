import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { type FormEvent, useState } from "react"
import type { Group } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { EmptyState, ErrorState, Loaded } from "../../components/feedback.tsx"
import { SearchField } from "../../components/fields.tsx"
import { Dialog } from "../../components/overlays.tsx"
import { Table } from "../../components/table.tsx"
import { showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { LimitFields } from "./limit-fields.tsx"
import { summarizeLimits, totalLimitNames } from "./limits.ts"

const { people } = adminTexts

/** The limits that groups set for each member and for all of them together. */
export function GroupLimits() {
  const { q = "", page = 1 } = useSearch({ from: "/shell/admin/people" })
  const navigate = useNavigate({ from: "/people" })
  const [edited, setEdited] = useState<Group | null>(null)
  const query = { page, pageSize: 25, ...(q.trim() === "" ? {} : { q: q.trim() }) }
  const groups = useQuery({ ...apiQuery("listGroups", { query }), placeholderData: keepPreviousData })
  const search = (next: string) => void navigate({ search: { tab: "groups", ...(next === "" ? {} : { q: next }) }, replace: true })
  const onPage = (next: number) => void navigate({ search: (before) => ({ ...before, page: next }) })
  const columns = [
    { title: people.group, cell: ({ GroupName }: Group) => GroupName },
    { title: people.members, cell: ({ Members }: Group) => Members.length, isNumber: true },
    { title: people.memberLimits, cell: ({ Limits }: Group) => summarizeLimits(Limits) || people.noLimits },
    { title: people.totalLimits, cell: ({ TotalLimits }: Group) => summarizeLimits(TotalLimits) || people.noLimits },
    {
      title: texts.common.more,
      cell: (group: Group) => (
        <Button size="small" icon="edit" onClick={() => setEdited(group)}>
          {people.edit}
        </Button>
      ),
    },
  ]
  return (
    <div className="stack">
      <div className="row">
        <SearchField label={people.searchGroups} value={q} onValue={search} />
      </div>
      <Loaded query={groups} height={12}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <EmptyState title={q === "" ? people.noGroups : people.noGroupMatches} />
          ) : (
            <Table label={people.tabs.groups} rows={data} columns={columns} keyOf={({ ID }) => ID} paging={{ page, pageCount, onPage }} />
          )
        }
      </Loaded>
      {edited && <GroupDialog key={edited.ID} group={edited} onClose={() => setEdited(null)} />}
    </div>
  )
}

function GroupDialog({ group, onClose }: { group: Group; onClose: () => void }) {
  const [each, setEach] = useState(group.Limits)
  const [total, setTotal] = useState(group.TotalLimits)
  const save = useMutation({
    mutationFn: () => client.updateGroup({ body: { ID: group.ID, Limits: each, TotalLimits: total } }),
    onSuccess: () => {
      showToast(texts.common.saved)
      onClose()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Dialog title={people.editGroup(group.GroupName)} size="wide" isOpen onClose={onClose}>
      <form onSubmit={submit} className="stack">
        <h3>{people.memberLimits}</h3>
        <LimitFields value={each} onValue={setEach} />
        <h3>{people.totalLimits}</h3>
        <LimitFields value={total} onValue={setTotal} names={totalLimitNames} />
        {save.error && <ErrorState error={save.error} />}
        <div className="row row-end">
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={save.isPending}>
            {texts.common.save}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
