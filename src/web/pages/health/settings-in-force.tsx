import { useQuery } from "@tanstack/react-query"
import { useDeferredValue, useState } from "react"
import type { InForce } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { Badge, Loaded } from "../../components/feedback.tsx"
import { SearchField } from "../../components/fields.tsx"
import { Section } from "../../components/page.tsx"
import { type Column, Table } from "../../components/table.tsx"
import { adminTexts } from "../../text/administration.ts"

const { settings } = adminTexts.health

type Setting = InForce["settings"][number]

/** All settings with their values. They change with a restart alone. */
export function SettingsInForce() {
  const inForce = useQuery(apiQuery("readSettings"))
  const [searchText, setSearchText] = useState("")
  const wanted = useDeferredValue(searchText.trim().toLowerCase())
  const isShown = ({ Name, Description }: Setting) => `${Name} ${Description}`.toLowerCase().includes(wanted)
  return (
    <Section title={settings.title} actions={<SearchField label={settings.search} value={searchText} onValue={setSearchText} />}>
      <Loaded query={inForce} height={12}>
        {(data) => <Table label={settings.title} rows={data.settings.filter(isShown)} columns={columns} keyOf={({ Name }) => Name} />}
      </Loaded>
    </Section>
  )
}

const columns: readonly Column<Setting>[] = [
  { title: settings.name, cell: ({ Name, Description }) => <SettingName name={Name} description={Description} /> },
  { title: settings.value, cell: (setting) => <SettingValue setting={setting} /> },
  { title: settings.initial, cell: ({ Default }) => <span className="quiet">{Default}</span> },
]

function SettingName({ name, description }: { name: string; description: string }) {
  return (
    <>
      <code>{name}</code>
      <p className="quiet small">{description.replaceAll("`", "")}</p>
    </>
  )
}

function SettingValue({ setting: { Value, IsDefault } }: { setting: Setting }) {
  return (
    <span className="row">
      {Value === "" ? <span className="quiet">{settings.unset}</span> : <code className="wrap-anywhere">{Value}</code>}
      {!IsDefault && <Badge>{settings.changed}</Badge>}
    </span>
  )
}
