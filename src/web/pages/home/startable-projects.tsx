import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { memo, useMemo } from "react"
import type { Project, RunningProject } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Button } from "../../components/button.tsx"
import { Badge, EmptyState, Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { Pager } from "../../components/table.tsx"
import { texts } from "../../text/index.ts"
import { projectTypes } from "../../text/project-types.ts"
import { DebouncedSearchField } from "../listing/debounced-search-field.tsx"
import { listQuery } from "../listing/list-search.ts"
import { StateBadge } from "../run/state-badge.tsx"
import type { HomeSearch } from "./home-search.ts"
import { ownRunsQuery } from "./own-runs.ts"

const pageSize = 12
/** Further groups are found by the list of projects. */
const maxGroups = 6

interface StartableProps {
  userName: string
  groups: readonly string[]
}

/** The projects that the person may start. The address holds which of them are listed. */
export function StartableProjects({ userName, groups }: StartableProps) {
  const runs = useRunsByProject(userName)
  const search = useSearch({ from: "/shell/" })
  const navigate = useNavigate({ from: "/" })
  const { page = 1, q = "" } = search
  const query = { ...listQuery(search, userName, "ProjectName"), pageSize }
  const projects = useQuery({ ...apiQuery("listProjects", { query }), placeholderData: keepPreviousData })
  const find = (searchText: string) => {
    const { page: _page, q: _q, ...rest } = search
    void navigate({ search: searchText === "" ? rest : { ...rest, q: searchText }, replace: true, resetScroll: false })
  }
  const onPage = (next: number) => void navigate({ search: { ...search, page: next }, resetScroll: false })
  return (
    <Section title={texts.home.projects} actions={<DebouncedSearchField label={texts.home.searchProjects} value={q} onValue={find} />}>
      <div className="stack">
        <Scopes groups={groups.slice(0, maxGroups)} />
        <Loaded query={projects} height={8}>
          {({ data, pageCount }) => (
            <>
              <ProjectList projects={data} userName={userName} search={search} runs={runs} />
              {pageCount > 1 && <Pager page={page} pageCount={pageCount} onPage={onPage} />}
            </>
          )}
        </Loaded>
      </div>
    </Section>
  )
}

/** The choice between all projects, one's own, those of a group, and published ones. */
function Scopes({ groups }: { groups: readonly string[] }) {
  const { q, show, group } = useSearch({ from: "/shell/" })
  const navigate = useNavigate({ from: "/" })
  const searchText = q === undefined ? {} : { q }
  const { scopes } = texts.home
  const choices: { label: string; search: HomeSearch }[] = [
    { label: scopes.all, search: {} },
    { label: scopes.mine, search: { show: "mine" } },
    ...groups.map((name) => ({ label: scopes.group(name), search: { group: name } })),
    { label: scopes.published, search: { show: "published" } },
  ]
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <div className="row" role="group" aria-label={scopes.label}>
      {choices.map(({ label, search }) => (
        <Button
          key={label}
          size="small"
          aria-pressed={search.show === show && search.group === group}
          onClick={() => void navigate({ search: { ...searchText, ...search }, resetScroll: false })}
        >
          <span className="cut">{label}</span>
        </Button>
      ))}
    </div>
  )
}

/** The person's run of each project, also if it is not up yet. */
function useRunsByProject(userName: string): ReadonlyMap<number, RunningProject> {
  const { data } = useQuery(ownRunsQuery(userName))
  return useMemo(() => new Map(data?.data.map((run) => [run.ProjectID, run])), [data])
}

interface ListProps {
  projects: readonly Project[]
  runs: ReadonlyMap<number, RunningProject>
  userName: string
  search: HomeSearch
}

function ProjectList({ projects, userName, search: { q, show, group }, runs }: ListProps) {
  if (projects.length > 0)
    return (
      <ul className="list">
        {projects.map((project) => (
          <ProjectRow key={project.ID} project={project} userName={userName} run={runs.get(project.ID)} />
        ))}
      </ul>
    )
  if (q !== undefined) return <p className="quiet wrap-anywhere">{texts.home.noMatch(q)}</p>
  if (show !== undefined || group !== undefined) return <p className="quiet">{texts.home.noneHere}</p>
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
          {project.GroupName && <span className="quiet small">{texts.home.scopes.group(project.GroupName)}</span>}
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
