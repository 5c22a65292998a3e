import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { memo, useDeferredValue, useMemo, useState } from "react"
import type { Project, RunningProject } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge, EmptyState, Loaded } from "../../components/feedback.tsx"
import { SearchField } from "../../components/fields.tsx"
import { Section } from "../../components/page.tsx"
import { Pager } from "../../components/table.tsx"
import { texts } from "../../text/index.ts"
import { projectTypes } from "../../text/project-types.ts"
import { StateBadge } from "../run/state-badge.tsx"
import { ownRuns } from "./own-runs.ts"

export function StartableProjects({ userName }: { userName: string }) {
  const runs = useRunsByProject(userName)
  const [words, setWords] = useState("")
  const [page, setPage] = useState(1)
  const q = useDeferredValue(words.trim())
  const query = { page, pageSize: 12, ...(q === "" ? {} : { q }) }
  const projects = useQuery({ ...apiQuery("listProjects", { query }), placeholderData: keepPreviousData })
  const search = (
    <SearchField
      label={texts.home.searchProjects}
      value={words}
      onValue={(next) => {
        setWords(next)
        setPage(1)
      }}
    />
  )
  return (
    <Section title={texts.home.projects} actions={search}>
      <Loaded query={projects} height={8}>
        {({ data, pageCount }) => (
          <>
            <ProjectList projects={data} userName={userName} words={q} runs={runs} />
            {pageCount > 1 && <Pager page={page} pageCount={pageCount} onPage={setPage} />}
          </>
        )}
      </Loaded>
    </Section>
  )
}

/** The person's run of each project, also if it is not up yet. */
function useRunsByProject(userName: string): ReadonlyMap<number, RunningProject> {
  const { data } = useQuery(ownRuns(userName))
  return useMemo(() => new Map(data?.data.map((run) => [run.ProjectID, run])), [data])
}

interface ListProps {
  projects: readonly Project[]
  runs: ReadonlyMap<number, RunningProject>
  userName: string
  words: string
}

function ProjectList({ projects, userName, words, runs }: ListProps) {
  if (projects.length > 0)
    return (
      <ul className="list">
        {projects.map((project) => (
          <ProjectRow key={project.ID} project={project} userName={userName} run={runs.get(project.ID)} />
        ))}
      </ul>
    )
  if (words !== "") return <p className="quiet wrap-anywhere">{texts.home.noMatch(words)}</p>
  return (
    <EmptyState title={texts.home.noProjects}>
      <p>{texts.home.noProjectsHint}</p>
      <ButtonLink to="/projects/new" kind="primary">
        {texts.home.firstProject}
      </ButtonLink>
    </EmptyState>
  )
}

interface RowProps {
  project: Project
  userName: string
  run: RunningProject | undefined
}

const ProjectRow = memo(function ProjectRow({ project, userName, run }: RowProps) {
  return (
    <li>
      <div className="grow">
        <div className="row">
          <span className="card-title">{project.ProjectName}</span>
          <Badge>{projectTypes[project.Type]}</Badge>
          {project.UserName !== userName && <span className="quiet small">{texts.home.owner(project.UserName)}</span>}
        </div>
        {project.Comment && <p className="quiet">{project.Comment}</p>}
      </div>
      {run ? (
        <div className="row">
          <StateBadge state={run.State} />
          <ButtonLink to="/runs/$id" params={{ id: run.ID }} size="small">
            {texts.home.show}
          </ButtonLink>
        </div>
      ) : (
        <ButtonLink to="/start/$project" params={{ project: project.ID }} size="small" icon="play">
          {texts.home.start}
        </ButtonLink>
      )}
    </li>
  )
})
