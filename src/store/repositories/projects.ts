import { toSummaries } from "../lists/summaries.ts"
import { query } from "../queries/query.ts"
import type { ProjectDatasetRow, ProjectDatasetSummary, ProjectRow } from "../rows.ts"
import type { NewRow, ProjectReads, ProjectWrites } from "../store.ts"
import { projectDatasetsTable, projectsTable } from "../tables/projects.ts"
import { type RepositoryContext, ResourceRepository } from "./resource.ts"

const links = query("links")
const linkSummaries = query("linkSummaries")
const clearLinks = query("clearLinks")
const addLinks = query("addLinks")
const transferRuns = query("transferRuns")

export class ProjectRepository extends ResourceRepository<ProjectRow> implements ProjectReads, ProjectWrites {
  constructor(context: RepositoryContext) {
    super(context, projectsTable)
  }

  override async update(id: number, fields: Partial<NewRow<ProjectRow>>): Promise<ProjectRow | undefined> {
    const row = await super.update(id, fields)
    if (row && fields.userId !== undefined) await this.runner.run(transferRuns, { project_id: id, owner_id: row.userId })
    return row
  }

  async links(projectIds: readonly number[]): Promise<ProjectDatasetRow[]> {
    if (projectIds.length === 0) return []
    return (await this.runner.all(links, { project_ids: projectIds })).map(projectDatasetsTable.toRow)
  }

  async linkSummaries(projectIds: readonly number[]): Promise<ProjectDatasetSummary[]> {
    if (projectIds.length === 0) return []
    const found = await this.runner.all(linkSummaries, { project_ids: projectIds })
    return found.map((values) => {
      const { rows, bytes, isTruncated } = toSummaries(projectDatasetsTable, [values])
      return { ...(rows[0] as ProjectDatasetRow), bytes: bytes?.[0] ?? 0, isTruncated: isTruncated ?? false }
    })
  }

  async setLinks(projectId: number, links: readonly Omit<ProjectDatasetRow, "projectId">[]): Promise<void> {
    await this.runner.run(clearLinks, { project_id: projectId })
    if (links.length === 0) return
    const [data_ids, mount_paths] = [links.map(({ dataId }) => dataId), links.map(({ mountPath }) => mountPath)]
    // One statement: on PostgreSQL, 64 of them would hold up everybody's changes.
    await this.runner.run(addLinks, { project_id: projectId, data_ids, mount_paths })
  }
}
