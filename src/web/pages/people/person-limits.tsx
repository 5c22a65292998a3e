import { useMutation, useQuery } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import { limitNames, type User } from "#contract"
import { client } from "../../api/client.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState, Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { Table } from "../../components/table.tsx"
import { showToast } from "../../components/toast.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { LimitFields } from "./limit-fields.tsx"
import { formatLimit, limitInForce } from "./limits.ts"
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
        <LimitsForm user={user} />
      </Section>
    </>
  )
}

type Groups = Parameters<typeof limitInForce>[2]

function LimitTable({ user, groups }: { user: User; groups: Groups }) {
  const rows = limitNames.map((name) => ({ name, ...limitInForce(name, user.Limits, groups) }))
  type Row = (typeof rows)[number]
  const inDefault = user.IsAdmin ? people.unlimited : people.byDefault
  const origin = ({ limit, group }: Row) => (limit === undefined ? "" : group || people.person)
  return (
    <Table
      label={people.inForce}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: people.limit, cell: ({ name }) => people.limitNames[name] },
        { title: people.inForce, cell: ({ name, limit }) => (limit === undefined ? inDefault : formatLimit(name, limit)) },
        { title: people.setBy, cell: origin },
      ]}
    />
  )
}

function LimitsForm({ user }: { user: User }) {
  const [limits, setLimits] = useState(user.Limits)
  const save = useMutation({
    mutationFn: () => client.updateUser({ body: { ID: user.ID, Limits: limits } }),
    onSuccess: () => showToast(texts.common.saved),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form onSubmit={submit} className="stack" aria-label={people.ownLimits}>
      <LimitFields value={limits} onValue={setLimits} />
      {save.error && <ErrorState error={save.error} />}
      <div className="row">
        <Button type="submit" kind="primary" isBusy={save.isPending}>
          {texts.common.save}
        </Button>
      </div>
    </form>
  )
}
