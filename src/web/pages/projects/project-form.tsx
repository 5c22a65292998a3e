import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { projectTypes } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { Checkbox } from "../../components/checkbox.tsx"
import { DocField } from "../../components/doc-field.tsx"
import { NumberField, Select, TextField } from "../../components/fields.tsx"
import { Section } from "../../components/page.tsx"
import { type Choice, Picker } from "../../components/picker.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { fieldError } from "../editing/field-error.ts"
import { ProjectDatasetsField } from "./project-datasets-field.tsx"
import type { ProjectDraft } from "./project-draft.ts"
import "../editing/editing.css"

export interface DraftProps {
  draft: ProjectDraft
  onDraft: (fields: Partial<ProjectDraft>) => void
  /** The refusal of the last attempt; a field at fault shows it. */
  error: unknown
}

/** The name, type, texts and times of a project; its image is asked for beside. */
export function ProjectFields({ draft, onDraft, error, typeHint }: DraftProps & { typeHint?: string | undefined }) {
  const { projects } = resourceTexts
  return (
    <>
      <div className="form-columns">
        <TextField
          label={projects.name}
          value={draft.ProjectName}
          onValue={(ProjectName) => onDraft({ ProjectName })}
          maxLength={200}
          required
          autoComplete="off"
          {...fieldError(error, "ProjectName")}
        />
        <Select
          label={projects.type}
          hint={typeHint ?? projects.typeHint}
          value={draft.Type}
          onValue={(Type) => onDraft({ Type })}
          options={projectTypes.map((value) => ({ value, label: projects.types[value] }))}
          {...fieldError(error, "Type")}
        />
      </div>
      <ProjectDatasetsField value={draft.TrainData} onValue={(TrainData) => onDraft({ TrainData })} {...fieldError(error, "TrainData")} />
      <TextField
        label={projects.comment}
        value={draft.Comment}
        onValue={(Comment) => onDraft({ Comment })}
        maxLength={2000}
        {...fieldError(error, "Comment")}
      />
      <DocField label={projects.doc} value={draft.Doc} onValue={(Doc) => onDraft({ Doc })} {...fieldError(error, "Doc")} />
    </>
  )
}

/** The fields that few projects need. */
export function FurtherFields({ draft, onDraft, error, isAdmin }: DraftProps & { isAdmin: boolean }) {
  const { projects } = resourceTexts
  const defaults = useTimes()
  const times = [
    ["StartMinutes", projects.startMinutes],
    ["IdleMinutes", projects.idleMinutes],
    ["MaxRunHours", projects.maxRunHours],
  ] as const
  return (
    <>
      <Section title={projects.limits}>
        <div className="form-columns">
          {times.map(([name, label]) => (
            <NumberField
              key={name}
              label={label}
              value={draft[name] === 0 ? null : draft[name]}
              onValue={(value) => onDraft({ [name]: value ?? 0 })}
              min={0}
              placeholder={defaults ? projects.defaultOf(defaults[name]) : projects.default}
              {...fieldError(error, name)}
            />
          ))}
        </div>
      </Section>
      <div className="form-columns">
        <GroupField value={draft.GroupName} onValue={(GroupName) => onDraft({ GroupName })} {...fieldError(error, "GroupName")} />
      </div>
      {isAdmin && (
        <Checkbox
          label={projects.trusted}
          hint={projects.trustedHint}
          isChecked={draft.IsTrusted}
          onChecked={(IsTrusted) => onDraft({ IsTrusted })}
        />
      )}
    </>
  )
}

/** The times of a run whose project names none: those of the installation and of its person. */
function useTimes(): Record<"StartMinutes" | "IdleMinutes" | "MaxRunHours", string> | undefined {
  const { data: capacity } = useQuery(apiQuery("readCapacity"))
  const { data: person } = useQuery(apiQuery("whoami"))
  if (!capacity || !person) return undefined
  const { IdleMinutes, MaxRunHours } = person.Limits
  const text = (limit: number | null) => (limit === null ? resourceTexts.projects.noLimit : String(limit))
  return { StartMinutes: text(capacity.defaults.StartMinutes), IdleMinutes: text(IdleMinutes), MaxRunHours: text(MaxRunHours) }
}

/** The same fields behind a line to open: nobody's first project needs them. */
export function MoreOptions(props: DraftProps & { isAdmin: boolean }) {
  return (
    <details>
      <summary>{resourceTexts.projects.further}</summary>
      <div className="form further">
        <FurtherFields {...props} />
      </div>
    </details>
  )
}

function GroupField({ value, onValue, error }: { value: string; onValue: (value: string) => void; error?: string }) {
  const { data: groups } = useQuery(apiQuery("listGroups", { query: { pageSize: 200 } }))
  const names = new Set([...(groups?.data.map(({ GroupName }) => GroupName) ?? []), ...(value === "" ? [] : [value])])
  return (
    <Select
      label={resourceTexts.projects.group}
      hint={resourceTexts.projects.groupHint}
      value={value}
      onValue={onValue}
      options={[{ value: "", label: resourceTexts.projects.noGroup }, ...[...names].map((name) => ({ value: name, label: name }))]}
      {...(error === undefined ? {} : { error })}
    />
  )
}

/** Chooses an image that the person may see. */
export function ImagePicker({ value, onValue, error }: { value: Choice | null; onValue: (value: Choice | null) => void; error?: string }) {
  const [searchText, setSearchText] = useState("")
  const q = searchText.trim()
  const query = { pageSize: 12, ...(q === "" ? {} : { q }) }
  const { data } = useQuery({ ...apiQuery("listImages", { query }), placeholderData: keepPreviousData })
  return (
    <Picker
      label={resourceTexts.projects.image}
      placeholder={resourceTexts.projects.imagePlaceholder}
      value={value}
      onValue={onValue}
      choices={(data?.data ?? []).map(({ ID, Name }) => ({ ID, Name }))}
      onSearchText={setSearchText}
      {...(error === undefined ? {} : { error })}
    />
  )
}
