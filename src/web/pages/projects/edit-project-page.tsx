import { useQuery } from "@tanstack/react-query"
import { useNavigate, useParams } from "@tanstack/react-router"
import { useMemo } from "react"
import type { Project } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ifMatch, type Versioned, versionedQuery } from "../../api/versioned.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { PageHeader } from "../../components/page.tsx"
import { showToast } from "../../components/toast.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { EditForm } from "../editing/edit-form.tsx"
import { fieldError } from "../editing/field-error.ts"
import { FormUnlessGone } from "../editing/unless-gone.tsx"
import { useEditing } from "../editing/use-editing.ts"
import { type ProjectDraft, projectBody, projectDraftOf } from "./project-draft.ts"
import { FurtherFields, ImagePicker, ProjectFields } from "./project-form.tsx"

export function EditProjectPage() {
  const { id } = useParams({ from: "/shell/projects/$id/edit" })
  const project = useQuery(versionedQuery("readProject", id))
  return (
    <FormUnlessGone query={project} back={<ButtonLink to="/projects">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => <EditProject key={id} project={data} />}
    </FormUnlessGone>
  )
}

const { projects } = resourceTexts
const labels: { readonly [K in keyof ProjectDraft]: string } = {
  ProjectName: projects.name,
  Type: projects.type,
  Image: projects.image,
  TrainData: projects.datasets,
  GroupName: projects.group,
  Comment: projects.comment,
  Doc: projects.doc,
  StartMinutes: projects.startMinutes,
  IdleMinutes: projects.idleMinutes,
  MaxRunHours: projects.maxRunHours,
  IsTrusted: projects.trusted,
}

function EditProject({ project: { value, etag } }: { project: Versioned<Project> }) {
  const { data: person } = useQuery(apiQuery("whoami"))
  const navigate = useNavigate()
  const latest = useMemo(() => projectDraftOf(value, { image: projects.imageById, dataset: projects.datasetById }), [value])
  const { ID } = value
  const form = useEditing({
    latest,
    etag,
    operation: "readProject",
    save: (changes, version) => client.updateProject({ body: { ID, ...projectBody(changes) }, headers: ifMatch(version) }),
    onSaved: ({ ProjectName, Warnings = [] }) => {
      showToast(resourceTexts.editing.saved(ProjectName))
      for (const warning of Warnings) showToast(projects.warnings, { type: "warning", description: warning })
      void navigate({ to: "/projects/$id", params: { id: ID } })
    },
  })
  const { draft } = form.editing
  const fields = { draft, onDraft: form.set, error: form.error }
  return (
    <>
      <PageHeader title={projects.edit(value.ProjectName)} />
      <EditForm form={form} labels={labels} className="form" aria-label={projects.edit(value.ProjectName)}>
        <ImagePicker
          key={draft.Image?.ID ?? 0}
          value={draft.Image}
          onValue={(Image) => Image && form.set({ Image })}
          {...fieldError(form.error, "ImageID", "Image")}
        />
        <ProjectFields {...fields} />
        <FurtherFields {...fields} isAdmin={person?.IsAdmin ?? false} />
      </EditForm>
    </>
  )
}
