import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { type LimitName, limitNames, type User } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ifMatch, type Versioned, versionedQuery } from "../../api/versioned.ts"
import { Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { Table } from "../../components/table.tsx"
import { showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { EditForm } from "../editing/edit-form.tsx"
import { useEditing } from "../editing/use-editing.ts"
import { LimitFields } from "./limit-fields.tsx"
import { defaultLimitText, formatLimit, limitInForce } from "./limits.ts"
import { groupsQuery } from "./person-usage.tsx"

const { people } = adminTexts

/** The limits in force with their origin, and a form for those of the person alone. */
export function PersonLimits({ user }: { user: User }) {
  const groups = useQuery(groupsQuery)
  return (
    <>
      <Section title={people.inForce}>
        <div className="stack">
          <p className="quiet">{people.limitsText}</p>
          <Loaded query={groups} height={12}>
            {({ data }) => <LimitTable user={user} groups={data.filter(({ Members }) => Members.includes(user.UserName))} />}
          </Loaded>
        </div>
      </Section>
      <Section title={people.ownLimits}>
        <OwnLimits id={user.ID} />
      </Section>
    </>
  )
}

type Groups = Parameters<typeof limitInForce>[2]

function LimitTable({ user, groups }: { user: User; groups: Groups }) {
  const { data: capacity } = useQuery(apiQuery("readCapacity"))
  const rows = limitNames.map((name) => ({ name, ...limitInForce(name, user.Limits, groups) }))
  type Row = (typeof rows)[number]
  const inDefault = (name: LimitName) => defaultLimitText(name, user, capacity?.defaults.Limits) ?? people.byDefault
  const origin = ({ limit, group }: Row) => (limit === undefined ? people.byDefault : group || people.person)
  return (
    <Table
      label={people.inForce}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: people.limit, cell: ({ name }) => people.limitNames[name] },
        { title: people.inForce, cell: ({ name, limit }) => (limit === undefined ? inDefault(name) : formatLimit(name, limit)) },
        { title: people.setBy, cell: origin },
      ]}
    />
  )
}

/** Begins again after each save: the form stays on the page. */
function OwnLimits({ id }: { id: number }) {
  const user = useQuery(versionedQuery("readUser", id))
  const cache = useQueryClient()
  const [saves, setSaves] = useState(0)
  const beginAgain = () => void cache.invalidateQueries({ queryKey: ["readUser"] }).then(() => setSaves((before) => before + 1))
  return (
    <Loaded query={user} height={12}>
      {(data) => <LimitsForm key={saves} user={data} onSaved={beginAgain} />}
    </Loaded>
  )
}

const labels = { Limits: people.ownLimits }

function LimitsForm({ user: { value, etag }, onSaved }: { user: Versioned<User>; onSaved: () => void }) {
  const { data: capacity } = useQuery(apiQuery("readCapacity"))
  const unset = (name: LimitName) => {
    const limit = defaultLimitText(name, value, capacity?.defaults.Limits)
    return limit === undefined ? people.byDefault : people.defaultOf(limit)
  }
  const { ID, Limits } = value
  const latest = useMemo(() => ({ Limits }), [Limits])
  const form = useEditing({
    latest,
    etag,
    operation: "readUser",
    save: (changes, version) => client.updateUser({ body: { ID, ...changes }, headers: ifMatch(version) }),
    onSaved: () => {
      showToast(texts.common.saved)
      onSaved()
    },
  })
  return (
    <EditForm form={form} labels={labels} className="stack" aria-label={people.ownLimits}>
      <LimitFields value={form.editing.draft.Limits} onValue={(next) => form.set({ Limits: next })} unset={unset} />
    </EditForm>
  )
}
