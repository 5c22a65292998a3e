import { useMutation, useQuery } from "@tanstack/react-query"
import { useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { type FormEvent, useRef, useState } from "react"
import type { Project } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { Badge, ErrorState, Loaded } from "../../components/feedback.tsx"
import { PageHeader, Section } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { projectTypes } from "../../text/project-types.ts"
import { failedRunId } from "../run/run-actions.tsx"
import { ProjectMounts } from "../run/run-mounts.tsx"
import { ResourceFields, type Resources } from "./resource-fields.tsx"
import { StartPreview } from "./start-preview.tsx"
import "./start.css"

export function StartPage() {
  const { project: id } = useParams({ from: "/shell/start/$project" })
  const project = useQuery(apiQuery("readProject", { query: { ID: id } }))
  return (
    <Loaded query={project} height={14}>
      {(data) => <StartForm project={data} />}
    </Loaded>
  )
}

function StartForm({ project }: { project: Project }) {
  const { cpus = null, memory = null, gpus = null } = useSearch({ from: "/shell/start/$project" })
  const { data: person } = useQuery(apiQuery("whoami"))
  const [resources, setResources] = useState<Resources>({ cpus, memory, gpus })
  const body = {
    ProjectID: project.ID,
    Cpus: resources.cpus ?? 0,
    Memory: resources.memory ?? 0,
    Gpus: resources.gpus ?? 0,
  }
  const start = useStart(body)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    start.mutate()
  }
  return (
    <>
      <PageHeader title={texts.start.title(project.ProjectName)} subtitle={<Subtitle project={project} />} />
      <div className="two-columns">
        <form onSubmit={submit} aria-label={texts.start.title(project.ProjectName)}>
          <Section title={texts.start.resources}>
            <div className="stack">
              <ResourceFields value={resources} onValue={setResources} />
              <StartPreview
                body={body}
                isOwnProject={person?.UserName === project.UserName}
                onDefaults={() => setResources({ cpus: null, memory: null, gpus: null })}
              />
              {start.error && <ErrorState error={start.error} />}
              <div className="row">
                <Button type="submit" kind="primary" icon="play" isBusy={start.isPending}>
                  {texts.start.submit}
                </Button>
              </div>
            </div>
          </Section>
        </form>
        <Section title={texts.start.mounts}>
          <p className="quiet small">{texts.start.mountsHint}</p>
          <ProjectMounts project={project} />
        </Section>
      </div>
    </>
  )
}

function Subtitle({ project }: { project: Project }) {
  return (
    <>
      <Badge>{projectTypes[project.Type]}</Badge>
      {project.Comment && <span className="wrap-anywhere">{project.Comment}</span>}
    </>
  )
}

/** Starts the project and goes to the page of its run, also of one that failed at once. */
function useStart(body: { ProjectID: number }) {
  const navigate = useNavigate()
  const show = (id: number) => void navigate({ to: "/runs/$id", params: { id }, replace: true })
  // A second attempt after a lost answer must not start a second run.
  const key = useRef(crypto.getRandomValues(new Uint32Array(4)).join("-"))
  return useMutation({
    mutationFn: () => client.startRun({ body, headers: { prefer: "respond-async", "idempotency-key": key.current } }),
    onSuccess: ({ ID }) => show(ID),
    onError: (error) => {
      const id = failedRunId(error)
      if (id !== undefined) show(id)
      if (!(error instanceof TypeError)) key.current = crypto.getRandomValues(new Uint32Array(4)).join("-")
    },
  })
}
