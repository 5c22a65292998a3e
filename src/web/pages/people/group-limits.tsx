import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useMemo, useState } from "react"
import type { Group } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ifMatch, type Versioned, versionedQuery } from "../../api/versioned.ts"
import { Button } from "../../components/button.tsx"
import { EmptyState, Loaded } from "../../components/feedback.tsx"
import { SearchField } from "../../components/fields.tsx"
import { Dialog } from "../../components/overlays.tsx"
import { Table } from "../../components/table.tsx"
import { showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { EditForm } from "../editing/edit-form.tsx"
import { useEditing } from "../editing/use-editing.ts"
import { LimitFields } from "./limit-fields.tsx"
import { liveRunsQuery, summarizeLimits, summarizeUsage, totalLimitNames, usageOf } from "./limits.ts"

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
  const { data: runs } = useQuery(liveRunsQuery)
  const uses =
    runs && runs.pageCount <= 1 ? ({ Members }: Group) => runs.data.filter(({ UserName }) => Members.includes(UserName)) : undefined
  const columns = [
    { title: people.group, cell: ({ GroupName }: Group) => GroupName },
    { title: people.members, cell: ({ Members }: Group) => Members.length, isNumber: true },
    ...(uses ? [{ title: people.usesNow, cell: (group: Group) => summarizeUsage(usageOf(uses(group))) }] : []),
    { title: people.memberLimits, cell: ({ Limits }: Group) => summarizeLimits(Limits) || people.noLimits },
    { title: people.totalLimits, cell: ({ TotalLimits }: Group) => summarizeLimits(TotalLimits) || people.noLimits },
    {
      title: texts.common.more,
      isActions: true,
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
      {edited && <GroupDialog key={edited.ID} id={edited.ID} name={edited.GroupName} onClose={() => setEdited(null)} />}
    </div>
  )
}

function GroupDialog({ id, name, onClose }: { id: number; name: string; onClose: () => void }) {
  const group = useQuery(versionedQuery("readGroup", id))
  return (
    <Dialog title={people.editGroup(name)} size="wide" isOpen onClose={onClose}>
      <Loaded query={group} height={12}>
        {(data) => <GroupForm group={data} onSaved={onClose} />}
      </Loaded>
    </Dialog>
  )
}

/** A group without a limit leaves it to others: it has no default. */
const unset = () => people.notSet
const labels = { Limits: people.memberLimits, TotalLimits: people.totalLimits }

function GroupForm({ group: { value, etag }, onSaved }: { group: Versioned<Group>; onSaved: () => void }) {
  const { ID, Limits, TotalLimits } = value
  const latest = useMemo(() => ({ Limits, TotalLimits }), [Limits, TotalLimits])
  const form = useEditing({
    latest,
    etag,
    operation: "readGroup",
    save: (changes, version) => client.updateGroup({ body: { ID, ...changes }, headers: ifMatch(version) }),
    onSaved: () => {
      showToast(texts.common.saved)
      onSaved()
    },
  })
  return (
    <EditForm form={form} labels={labels} className="stack">
      <h3>{people.memberLimits}</h3>
      <LimitFields value={form.editing.draft.Limits} onValue={(next) => form.set({ Limits: next })} unset={unset} />
      <h3>{people.totalLimits}</h3>
      <LimitFields
        value={form.editing.draft.TotalLimits}
        onValue={(next) => form.set({ TotalLimits: next })}
        names={totalLimitNames}
        unset={unset}
      />
    </EditForm>
  )
}
