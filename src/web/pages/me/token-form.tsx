import { useMutation, useQuery } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import type { Answer } from "#contract"
import { client } from "../../api/client.ts"
import { errorText } from "../../api/error-text.ts"
import { apiQuery } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { Select, TextField } from "../../components/fields.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import { type ExpiryChoice, expiryChoices, expiryOf, firstExpiryDay } from "./token-expiry.ts"

const { me } = adminTexts

type ScopeChoice = keyof typeof me.scopes
const scopeOptions = (["all", "read", "run"] as const).map((value) => ({ value, label: me.scopes[value] }))
const expiryOptions = expiryChoices.map((value) => ({ value, label: me.expiries[value] }))

interface TokenFormProps {
  userName: string
  onMade: (token: Answer<"createToken">) => void
  onCancel: () => void
}

export function TokenForm({ userName, onMade, onCancel }: TokenFormProps) {
  const [name, setName] = useState("")
  const [scope, setScope] = useState<ScopeChoice>("all")
  const [run, setRun] = useState("")
  const [expiry, setExpiry] = useState<ExpiryChoice>("90")
  const [date, setDate] = useState("")
  const create = useMutation({
    mutationFn: () => {
      const Scopes = { all: ["read", "write"], read: ["read"], run: [`run:${run}`] }[scope]
      return client.createToken({ body: { Name: name, Scopes, ExpiresAt: expiryOf(expiry, date, new Date()) } })
    },
    onSuccess: onMade,
  })
  const fault = create.error ? errorText(create.error) : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <form onSubmit={submit} className="stack">
      <TextField
        label={me.name}
        hint={me.nameHint}
        value={name}
        onValue={setName}
        required
        error={fault?.field === "Name" ? fault.title : undefined}
        autoComplete="off"
      />
      <Select label={me.scope} value={scope} onValue={setScope} options={scopeOptions} />
      {scope === "run" && <RunChoice userName={userName} value={run} onValue={setRun} />}
      <Select label={me.expiry} value={expiry} onValue={setExpiry} options={expiryOptions} />
      {expiry === "date" && (
        <TextField label={me.date} type="date" value={date} onValue={setDate} min={firstExpiryDay(new Date())} required />
      )}
      {create.error && fault?.field !== "Name" && <ErrorState error={create.error} />}
      <div className="row row-end">
        <Button onClick={onCancel}>{texts.common.cancel}</Button>
        <Button type="submit" kind="primary" isBusy={create.isPending} disabled={scope === "run" && run === ""}>
          {me.create}
        </Button>
      </div>
    </form>
  )
}

function RunChoice({ userName, value, onValue }: { userName: string; value: string; onValue: (value: string) => void }) {
  const { data: runs } = useQuery(apiQuery("listRuns", { query: { UserName: userName, pageSize: 60 } }))
  const options = (runs?.data ?? []).map((run) => ({ value: String(run.ID), label: `${projectName(run)} (${run.ID})` }))
  if (runs && options.length === 0) return <p className="quiet">{me.noRun}</p>
  return <Select label={me.run} value={value} onValue={onValue} options={options} />
}
