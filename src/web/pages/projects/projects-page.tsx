import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import type { Project } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge, EmptyState } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import type { Column } from "../../components/table.tsx"
import { texts } from "../../text/index.ts"
import { ListFilters } from "../listing/list-filters.tsx"
import { type ListSearch, listQuery } from "../listing/list-search.ts"
import { ResourceList } from "../listing/resource-list.tsx"

const columns: readonly Column<Project>[] = [
  {
    title: texts.projects.name,
    cell: (project) => (
      <>
        {project.DeletedAt === null ? (
          <Link to="/projects/$id" params={{ id: project.ID }} className="card-title">
            {project.ProjectName}
          </Link>
        ) : (
          <span className="card-title">{project.ProjectName}</span>
        )}
        {project.Comment && <p className="quiet small line-clamp">{project.Comment}</p>}
      </>
    ),
  },
  { title: texts.projects.type, cell: (project) => texts.projects.types[project.Type] },
  { title: texts.listing.visibleTo, cell: (project) => <Visibility project={project} /> },
]

export function ProjectsPage() {
  const search = useSearch({ from: "/shell/projects" })
  const navigate = useNavigate({ from: "/projects" })
  const { data: person } = useQuery(apiQuery("whoami"))
  const query = listQuery(search, person?.UserName ?? "", "ProjectName")
  const projects = useQuery({ ...apiQuery("listProjects", { query }), enabled: person !== undefined, placeholderData: keepPreviousData })
  const onSearch = (next: ListSearch) => void navigate({ search: next, replace: true })
  return (
    <>
      <PageHeader title={texts.projects.title}>
        <ButtonLink to="/projects/new" kind="primary" icon="plus">
          {texts.projects.new}
        </ButtonLink>
      </PageHeader>
      <ListFilters label={texts.projects.search} search={search} onSearch={onSearch} groups={person?.Groups ?? []} />
      <ResourceList
        label={texts.projects.title}
        query={projects}
        search={search}
        onSearch={onSearch}
        columns={columns}
        empty={<NoProjects />}
        nameOf={(project) => project.ProjectName}
        restore={(ID) => client.restoreProject({ query: { ID } })}
      />
    </>
  )
}

function NoProjects() {
  return (
    <EmptyState title={texts.projects.none}>
      <p>{texts.projects.noneHint}</p>
      <ButtonLink to="/projects/new" kind="primary" icon="plus">
        {texts.projects.new}
      </ButtonLink>
    </EmptyState>
  )
}

function Visibility({ project }: { project: Project }) {
  if (project.IsPublic) return <Badge tone="good">{texts.listing.everybody}</Badge>
  if (project.GroupName) return <Badge>{project.GroupName}</Badge>
  return <span className="quiet">{texts.listing.onlyShared}</span>
}
