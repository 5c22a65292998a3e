import { useMutation, useQuery } from "@tanstack/react-query"
import { useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { type FormEvent, useRef, useState } from "react"
import type { Project, RunningProject } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Button } from "../../components/button.tsx"
import { Badge, ErrorState, Note, Skeleton } from "../../components/feedback.tsx"
import { PageHeader, Section } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { projectTypes } from "../../text/project-types.ts"
import { UnlessGone } from "../editing/unless-gone.tsx"
import { failedRunId } from "../run/run-actions.tsx"
import { ProjectMounts } from "../run/run-mounts.tsx"
import { StateBadge } from "../run/state-badge.tsx"
import { useOwnRun } from "./own-run.ts"
import { ResourceFields, type Resources } from "./resource-fields.tsx"
import { StartPreview } from "./start-preview.tsx"
import "./start.css"

export function StartPage() {
  const { project: id } = useParams({ from: "/shell/start/$project" })
  const project = useQuery(apiQuery("readProject", { query: { ID: id } }))
  const run = useOwnRun(id)
  return (
    <UnlessGone query={project} back={<ButtonLink to="/">{texts.common.nav.home}</ButtonLink>}>
      {(data) => (run === undefined ? <Skeleton height={14} /> : <StartForm project={data} run={run} />)}
    </UnlessGone>
  )
}

function StartForm({ project, run }: { project: Project; run: RunningProject | null }) {
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
  // The run that this page itself starts opens by its own address.
  if (run && start.isIdle) return <AlreadyRunning project={project} run={run} />
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

/** A person has one run of a project at a time. */
function AlreadyRunning({ project, run }: { project: Project; run: RunningProject }) {
  return (
    <>
      <PageHeader title={texts.start.title(project.ProjectName)} subtitle={<Subtitle project={project} />} />
      <Note role="status">
        <StateBadge state={run.State} />
        <span className="grow">{texts.start.isRunning}</span>
        <ButtonLink to="/runs/$id" params={{ id: run.ID }} kind="primary" size="small">
          {texts.run.show}
        </ButtonLink>
      </Note>
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
