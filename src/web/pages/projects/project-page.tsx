import { useQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import type { Project, Whoami } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { type Rights, rightsOn } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge } from "../../components/feedback.tsx"
import { Markdown } from "../../components/markdown/markdown.tsx"
import { DescriptionList, PageHeader, Section } from "../../components/page.tsx"
import { RelativeTime, useNow } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
import { resourceTexts } from "../../text/resources.ts"
import { UnlessGone } from "../editing/unless-gone.tsx"
import { ProjectMounts } from "../run/run-mounts.tsx"
import { StateBadge } from "../run/state-badge.tsx"
import { AccessList, grantsQuery } from "../sharing/access-list.tsx"
import { useOwnRun } from "../start/own-run.ts"
import { ProjectActions } from "./project-actions.tsx"
import { projectPartName } from "./project-draft.ts"

const { projects } = resourceTexts

export function ProjectPage() {
  const { id } = useParams({ from: "/shell/projects/$id" })
  const project = useQuery(apiQuery("readProject", { query: { ID: id } }))
  const { data: person } = useQuery(apiQuery("whoami"))
  return (
    <UnlessGone query={project} back={<ButtonLink to="/projects">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => person && <ProjectView project={data} person={person} />}
    </UnlessGone>
  )
}

function ProjectView({ project, person }: { project: Project; person: Whoami }) {
  const { data: grants } = useQuery(grantsQuery({ ProjectID: project.ID }))
  const now = useNow()
  const rights = rightsOn({ ...project, isPublished: project.IsPublic }, person, grants?.data ?? [], now)
  return (
    <>
      <PageHeader title={project.ProjectName} subtitle={<Subtitle project={project} />}>
        <ProjectActions project={project} rights={rights} />
      </PageHeader>
      {project.Doc.trim() === "" ? <p className="quiet">{projects.noDoc}</p> : <Markdown text={project.Doc} />}
      <div className="two-columns section-gap">
        <Section title={projects.definition}>
          <Definition project={project} />
        </Section>
        <Section title={texts.run.mounts}>
          <ProjectMounts project={project} />
        </Section>
        <Access project={project} rights={rights} />
      </div>
    </>
  )
}

function Subtitle({ project }: { project: Project }) {
  const run = useOwnRun(project.ID)
  return (
    <>
      {run && <StateBadge state={run.State} />}
      <Badge>{projects.types[project.Type]}</Badge>
      {project.IsPublic && <Badge tone="good">{projects.public}</Badge>}
      {project.IsTrusted && <Badge tone="good">{projects.trusted}</Badge>}
      {project.Comment && <span className="wrap-anywhere">{project.Comment}</span>}
    </>
  )
}

function Definition({ project }: { project: Project }) {
  const { StartMinutes, IdleMinutes, MaxRunHours } = project
  return (
    <DescriptionList
      entries={[
        [
          projects.image,
          "Name" in project.Image ? (
            <Link key="image" to="/images/$id" params={{ id: project.ImageID }}>
              {project.Image.Name}
            </Link>
          ) : (
            projectPartName(project.Image, projects.imageById)
          ),
        ],
        [resourceTexts.listing.owner, project.UserName],
        [projects.group, project.GroupName],
        [projects.startMinutes, StartMinutes > 0 ? projects.minutes(StartMinutes) : ""],
        [projects.idleMinutes, IdleMinutes > 0 ? projects.minutes(IdleMinutes) : ""],
        [projects.maxRunHours, MaxRunHours > 0 ? projects.hours(MaxRunHours) : ""],
        [projects.created, <RelativeTime key="created" value={project.CreatedAt} />],
        [resourceTexts.listing.updated, <RelativeTime key="updated" value={project.UpdatedAt} />],
        [projects.id, project.ID],
        [
          projects.history,
          <Link key="history" to="/history" search={{ project: project.ID }}>
            {projects.endedRuns}
          </Link>,
        ],
      ]}
    />
  )
}

function Access({ project, rights }: { project: Project; rights: Rights }) {
  const { sharing } = resourceTexts
  return (
    <Section title={sharing.access}>
      <div className="stack">
        <p className="quiet small">{sharing.owner(project.UserName)}</p>
        {project.IsPublic && <p className="quiet small">{sharing.everybody}</p>}
        {project.GroupName && <p className="quiet small">{sharing.group(project.GroupName)}</p>}
        {rights.canManage && <AccessList target={{ ProjectID: project.ID }} canRevoke={true} />}
      </div>
    </Section>
  )
}
