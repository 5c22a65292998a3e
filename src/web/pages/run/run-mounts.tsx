import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { defaultMountPaths, type Project, type ProjectData, type RunningProject } from "#contract"
import { projectOf } from "../../api/run-names.ts"
import { Section } from "../../components/page.tsx"
import { CopyButton } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"

export function RunMounts({ run }: { run: RunningProject }) {
  const project = projectOf(run)
  if (!project) return null
  return (
    <Section title={texts.run.mounts}>
      <ProjectMounts project={project} home={run.Home} />
      {run.HomeReason && <p className="quiet small wrap-anywhere">{run.HomeReason}</p>}
    </Section>
  )
}

/** The places of directories in a run of the project. `home`: the one at `UserPath`, if known. */
export function ProjectMounts({ project, home = "" }: { project: Project; home?: string }) {
  const { UserPath, CodePath, ModelPath } = project
  return (
    <ul className="list">
      <MountRow
        path={UserPath || defaultMountPaths.UserPath}
        content={
          home ? (
            <Link to="/files" search={{ path: home }}>
              {home}
            </Link>
          ) : (
            texts.run.userDirectory
          )
        }
      />
      <MountRow path={CodePath || defaultMountPaths.CodePath} content={texts.run.codeDirectory} />
      <MountRow path={ModelPath || defaultMountPaths.ModelPath} content={texts.run.modelDirectory} />
      {project.TrainData.map((each) => (
        <MountRow key={each.MountPath} path={each.MountPath} content={<Dataset data={each} />} />
      ))}
    </ul>
  )
}

function Dataset({ data: { Data: data } }: { data: ProjectData }) {
  if (!("Name" in data)) return texts.run.dataset(data.ID)
  return (
    <Link to="/files" search={{ path: data.AccessInfo }}>
      {data.Name}
    </Link>
  )
}

function MountRow({ path, content }: { path: string; content: ReactNode }) {
  return (
    <li>
      <div className="grow">
        <code>{path}</code>
        <div className="quiet small">{content}</div>
      </div>
      <CopyButton text={path} />
    </li>
  )
}
