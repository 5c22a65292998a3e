import type { Project, RunningProject } from "#contract"

/** The project of a run; undefined if the reader may not see it. */
export function projectOf({ Project: project }: RunningProject): Project | undefined {
  return "ProjectName" in project ? (project as Project) : undefined
}

/** The name under which people know a run: its project's. */
export function projectName(run: RunningProject): string {
  return projectOf(run)?.ProjectName ?? `Project ${run.ProjectID}`
}
