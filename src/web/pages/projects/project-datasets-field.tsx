import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { type Data, type List, planMounts } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { IconButton } from "../../components/button.tsx"
import { TextField } from "../../components/fields.tsx"
import { Section } from "../../components/page.tsx"
import { Picker } from "../../components/picker.tsx"
import { resourceTexts } from "../../text/resources.ts"
import type { DraftDataset } from "./project-draft.ts"
import "./projects.css"

interface ProjectDatasetsFieldProps {
  value: readonly DraftDataset[]
  onValue: (value: readonly DraftDataset[]) => void
  error?: string
}

/** The datasets of a project, each with the path at which a run finds it. */
export function ProjectDatasetsField({ value, onValue, error }: ProjectDatasetsFieldProps) {
  const { projects } = resourceTexts
  const paths = defaultPaths(value)
  const set = (id: number, MountPath: string) => onValue(value.map((each) => (each.ID === id ? { ...each, MountPath } : each)))
  return (
    <Section title={projects.datasets}>
      <div className="stack">
        {value.map(({ ID, Name, MountPath }, i) => (
          <div key={ID} className="mount-row">
            <span className="wrap-anywhere">{Name}</span>
            <TextField
              label={`${projects.mountPath}: ${Name}`}
              value={MountPath}
              onValue={(path) => set(ID, path)}
              placeholder={paths[i] ?? ""}
              spellCheck={false}
              maxLength={4096}
            />
            <IconButton
              label={`${projects.remove}: ${Name}`}
              icon="trash"
              onClick={() => onValue(value.filter((each) => each.ID !== ID))}
            />
          </div>
        ))}
        {value.length === 0 && <p className="quiet small">{projects.noDatasets}</p>}
        {error !== undefined && (
          <p className="field-error" role="alert">
            {error}
          </p>
        )}
        <AddDataset
          key={value.length}
          taken={value.map(({ ID }) => ID)}
          onAdd={({ ID, Name }) => onValue([...value, { ID, Name, MountPath: "" }])}
        />
      </div>
    </Section>
  )
}

/** The paths that the server chooses where none is given. */
function defaultPaths(value: readonly DraftDataset[]): readonly string[] {
  const datasets = value.map(({ ID, Name, MountPath }) => ({ id: ID, name: Name, mountPath: MountPath }))
  const plan = planMounts({ UserPath: "", CodePath: "", ModelPath: "" }, datasets)
  return "field" in plan ? [] : plan.data
}

interface AddProps {
  taken: readonly number[]
  onAdd: (data: { ID: number; Name: string }) => void
}

function AddDataset({ taken, onAdd }: AddProps) {
  const [searchText, setSearchText] = useState("")
  const q = searchText.trim()
  // `page` makes the answer a list, also when one dataset is found.
  const query = { page: 1, pageSize: 12, ...(q === "" ? {} : { q }) }
  const { data } = useQuery({ ...apiQuery("listData", { query }), placeholderData: keepPreviousData })
  const found = (data as List<Data> | undefined)?.data ?? []
  return (
    <Picker
      label={resourceTexts.projects.addDataset}
      hint={
        <Link to="/datasets/new" target="_blank">
          {resourceTexts.projects.newDataset}
        </Link>
      }
      placeholder={resourceTexts.projects.datasetPlaceholder}
      value={null}
      onValue={(choice) => choice && onAdd(choice)}
      choices={found.filter(({ ID }) => !taken.includes(ID)).map(({ ID, Name }) => ({ ID, Name }))}
      onSearchText={setSearchText}
    />
  )
}
