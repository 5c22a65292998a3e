import { query } from "../queries/query.ts"
import type { LinkOutline, LinkRow, ProjectRow } from "../rows.ts"
import type { NewRow, ProjectReads, ProjectWrites } from "../store.ts"
import { projects } from "../tables/kinds.ts"
import { type Context, ResourceRows } from "./resource.ts"

const links = query("links")
const linkOutlines = query("linkOutlines")
const clearLinks = query("clearLinks")
const addLink = query("addLink")
const handOverRuns = query("handOverRuns")

export class Projects extends ResourceRows<ProjectRow> implements ProjectReads, ProjectWrites {
  constructor(context: Context) {
    super(context, projects)
  }

  override async update(id: number, fields: Partial<NewRow<ProjectRow>>): Promise<ProjectRow | undefined> {
    const row = await super.update(id, fields)
    if (row && fields.userId !== undefined) await this.session.run(handOverRuns, { project_id: id, owner_id: row.userId })
    return row
  }

  async links(projectIds: readonly number[]): Promise<LinkRow[]> {
    if (projectIds.length === 0) return []
    const found = await this.session.all(links, { project_ids: projectIds })
    return found.map((v) => ({ projectId: v[0] as number, dataId: v[1] as number, mountPath: v[2] as string }))
  }

  async linkOutlines(projectIds: readonly number[]): Promise<LinkOutline[]> {
    if (projectIds.length === 0) return []
    const found = await this.session.all(linkOutlines, { project_ids: projectIds })
    return found.map(([projectId, dataId, mountPath, bytes]) => ({
      projectId: projectId as number,
      dataId: dataId as number,
      mountPath: (mountPath as string | null) ?? "",
      bytes: bytes as number,
      isCut: mountPath === null,
    }))
  }

  async setLinks(projectId: number, links: readonly Omit<LinkRow, "projectId">[]): Promise<void> {
    await this.session.run(clearLinks, { project_id: projectId })
    for (const [position, { dataId, mountPath }] of links.entries()) {
      await this.session.run(addLink, { project_id: projectId, position, data_id: dataId, mount_path: mountPath })
    }
  }
}
