import { useMutation, useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { type FormEvent, useState } from "react"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { LeaveGuard } from "../../app/leave-guard.tsx"
import { Button } from "../../components/button.tsx"
import { ErrorState, Note, Skeleton } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { PageHeader } from "../../components/page.tsx"
import { showError } from "../../components/toast.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { fieldError } from "../editing/field-error.ts"
import { isDeepEqual } from "../editing/merge.ts"
import { failedRunId } from "../run/run-actions.tsx"
import { emptyProject, imageNameFromReference, type ProjectDraft, projectBody } from "./project-draft.ts"
import { ImagePicker, MoreOptions, ProjectFields } from "./project-form.tsx"

/** One form from an image to a running project. */
export function NewProjectPage() {
  const { image } = useSearch({ from: "/shell/projects/new" })
  const chosen = useQuery({ ...apiQuery("readImage", { query: { ID: image ?? 0 } }), enabled: image !== undefined })
  if (image !== undefined && chosen.isPending) return <Skeleton height={12} />
  return <NewProjectForm image={chosen.data ? { ID: chosen.data.ID, Name: chosen.data.Name } : null} />
}

function NewProjectForm({ image }: { image: ProjectDraft["Image"] }) {
  const { projects } = resourceTexts
  const { data: person } = useQuery(apiQuery("whoami"))
  const [draft, setDraft] = useState<ProjectDraft>({ ...emptyProject, Image: image })
  const [reference, setReference] = useState<string | null>(null)
  const set = (fields: Partial<ProjectDraft>) => setDraft((now) => ({ ...now, ...fields }))
  const create = useCreate(draft, reference, (image) => {
    set({ Image: image })
    setReference(null)
  })
  const { data: check } = useQuery({
    ...apiQuery("checkImage", { query: { ID: draft.Image?.ID ?? 0 } }),
    enabled: draft.Image !== null,
    retry: false,
  })
  const likely = check?.Types.map((type) => projects.types[type]).join(", ")
  const hasImage = reference === null ? draft.Image !== null : reference.trim() !== ""
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const button = (event.nativeEvent as SubmitEvent).submitter as HTMLButtonElement | null
    create.mutate({ isStarted: button?.value === "start" })
  }
  return (
    <>
      <PageHeader title={projects.new} />
      <form className="form" onSubmit={submit} aria-label={projects.new}>
        <div className="stack">
          {reference === null ? (
            <ImagePicker value={draft.Image} onValue={(Image) => set({ Image })} {...fieldError(create.error, "ImageID", "Image")} />
          ) : (
            <TextField
              label={projects.reference}
              hint={projects.referenceHint}
              value={reference}
              onValue={setReference}
              spellCheck={false}
              autoFocus
              {...fieldError(create.error, "Image", "Name")}
            />
          )}
          <div className="row">
            <Button size="small" onClick={() => setReference(reference === null ? "" : null)}>
              {reference === null ? projects.newImage : projects.existingImage}
            </Button>
          </div>
        </div>
        <ProjectFields draft={draft} onDraft={set} error={create.error} typeHint={likely ? projects.looksLike(likely) : undefined} />
        <MoreOptions draft={draft} onDraft={set} error={create.error} isAdmin={person?.IsAdmin ?? false} />
        <LeaveGuard isChanged={(reference ?? "") !== "" || !isDeepEqual(draft, { ...emptyProject, Image: image })} saving={create} />
        {create.error && <ErrorState error={create.error} />}
        {!hasImage && <Note>{projects.imageNeeded}</Note>}
        <CreateButtons isReady={hasImage} isBusy={create.isPending} />
      </form>
    </>
  )
}

function CreateButtons({ isReady, isBusy }: { isReady: boolean; isBusy: boolean }) {
  const { projects } = resourceTexts
  return (
    <div className="row">
      <Button type="submit" value="start" kind="primary" icon="play" disabled={!isReady} isBusy={isBusy}>
        {projects.createAndStart}
      </Button>
      <Button type="submit" disabled={!isReady || isBusy}>
        {projects.create}
      </Button>
    </div>
  )
}

/**
 * Creates the image if it is new, then the project, then its run. An image that was made stays
 * chosen when the project is refused, so that another attempt makes no second one.
 */
function useCreate(draft: ProjectDraft, reference: string | null, onImage: (image: { ID: number; Name: string }) => void) {
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async ({ isStarted }: { isStarted: boolean }) => {
      const image = reference === null ? draft.Image : await createImage(reference.trim())
      if (reference !== null && image) onImage(image)
      const { IsTrusted, ...rest } = projectBody({ ...draft, Image: image }) as { IsTrusted?: boolean }
      const project = await client.createProject({ body: { ...rest, ...(IsTrusted ? { IsTrusted } : {}) } })
      const run = isStarted ? await startRun(project.ID) : undefined
      return { project: project.ID, run }
    },
    onSuccess: ({ project, run }) => {
      if (run === undefined) void navigate({ to: "/projects/$id", params: { id: project } })
      else void navigate({ to: "/runs/$id", params: { id: run } })
    },
  })
}

async function createImage(reference: string): Promise<{ ID: number; Name: string }> {
  return client.createImage({ body: { Name: imageNameFromReference(reference), Image: reference } })
}

/** The run, also one whose start failed: its page says why. The project stays in any case. */
async function startRun(ProjectID: number): Promise<number | undefined> {
  try {
    return (await client.startRun({ body: { ProjectID }, headers: { prefer: "respond-async" } })).ID
  } catch (error) {
    const id = failedRunId(error)
    if (id === undefined) showError(error)
    return id
  }
}
