import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import type { Project } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge, EmptyState } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import type { Column } from "../../components/table.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { ListFilters } from "../listing/list-filters.tsx"
import { type ListSearch, listQuery } from "../listing/list-search.ts"
import { ResourceList } from "../listing/resource-list.tsx"

const columns: readonly Column<Project>[] = [
  {
    title: resourceTexts.projects.name,
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
  { title: resourceTexts.projects.type, cell: (project) => resourceTexts.projects.types[project.Type] },
  { title: resourceTexts.listing.visibleTo, cell: (project) => <Visibility project={project} /> },
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
      <PageHeader title={resourceTexts.projects.title}>
        <ButtonLink to="/projects/new" kind="primary" icon="plus">
          {resourceTexts.projects.new}
        </ButtonLink>
      </PageHeader>
      <ListFilters label={resourceTexts.projects.search} search={search} onSearch={onSearch} groups={person?.Groups ?? []} />
      <ResourceList
        label={resourceTexts.projects.title}
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
    <EmptyState title={resourceTexts.projects.none}>
      <p>{resourceTexts.projects.noneHint}</p>
      <ButtonLink to="/projects/new" kind="primary" icon="plus">
        {resourceTexts.projects.new}
      </ButtonLink>
    </EmptyState>
  )
}

function Visibility({ project }: { project: Project }) {
  if (project.IsPublic) return <Badge tone="good">{resourceTexts.listing.everybody}</Badge>
  if (project.GroupName) return <Badge>{project.GroupName}</Badge>
  return <span className="quiet">{resourceTexts.listing.onlyShared}</span>
}
