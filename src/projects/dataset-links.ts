import { type Caller, loadMountModes } from "#access"
import { bounds, checkPlainText, Failure, invalidField, type ProjectDataInput, planMounts } from "#contract"
import type { Change, DataRow, ProjectDatasetRow, ProjectRow } from "#store"
import { invalidReference } from "./references.ts"

interface WantedLinks {
  project: Pick<ProjectRow, "userPath" | "codePath" | "modelPath">
  stored: readonly ProjectDatasetRow[]
  /** The datasets that a body names; undefined if it names none, so that the stored ones stay. */
  wanted: readonly ProjectDataInput[] | undefined
}

/**
 * Checks the paths of all mounts and stores the datasets that a body names. Returns whether the
 * mounted datasets, or their paths, have changed.
 */
export async function updateDatasetLinks(
  tx: Pick<Change, "data" | "projects" | "grants">,
  caller: Caller,
  { project, wanted }: { project: ProjectRow; wanted: readonly ProjectDataInput[] | undefined },
): Promise<boolean> {
  const stored = await tx.projects.links([project.id])
  const links = await checkDatasetLinks(tx, caller, { project, stored, wanted })
  if (!wanted) return false
  await tx.projects.setLinks(project.id, links)
  const before = new Map(stored.map((link) => [link.dataId, link.mountPath]))
  return links.length !== stored.length || links.some(({ dataId, mountPath }) => before.get(dataId) !== mountPath)
}

/**
 * Checks the datasets of a project and the paths of all its mounts, and returns the links to store.
 * The caller must be allowed to mount every new dataset; a stored one is always accepted.
 */
export async function checkDatasetLinks(
  tx: Pick<Change, "data" | "grants">,
  caller: Caller,
  { project, stored, wanted }: WantedLinks,
): Promise<{ dataId: number; mountPath: string }[]> {
  const before = new Map(stored.map((link) => [link.dataId, link.mountPath]))
  const inputs = wanted ?? stored.map((link) => ({ ID: link.dataId, MountPath: link.mountPath }))
  const rows = new Map((await tx.data.parts(inputs.map(({ ID }) => ID))).map((each) => [each.id, each]))
  const live = (row: DataRow | undefined) => (row?.deletedAt === null ? row : undefined)
  const added = inputs.flatMap(({ ID }) => (before.has(ID) ? [] : [live(rows.get(ID))]))
  const modes = await loadMountModes(tx, caller, added)
  const seen = new Set<number>()
  for (const { ID, MountPath = "" } of inputs) {
    if (MountPath !== before.get(ID)) checkPlainText(MountPath, "TrainData")
    if (seen.has(ID)) throw new Failure("invalid", `TrainData names the dataset ${ID} twice`, { field: "TrainData" })
    seen.add(ID)
    if (!before.has(ID) && (modes.get(ID) ?? "no") === "no") throw invalidReference("TrainData", "the dataset", ID)
  }
  const planned = planMounts(
    { UserPath: project.userPath, CodePath: project.codePath, ModelPath: project.modelPath },
    inputs.map(({ ID, MountPath }) => ({ id: ID, name: rows.get(ID)?.name ?? "", mountPath: MountPath ?? before.get(ID) ?? "" })),
  )
  if ("field" in planned) throw new Failure("invalid", `${planned.field} must be ${planned.expected}`, { field: planned.field })
  const links = inputs.map(({ ID }, i) => ({ dataId: ID, mountPath: planned.data[i] ?? "" }))
  checkPathsLength(links, stored)
  return links
}

/** Stored paths that are too long together may stay, or become shorter. */
function checkPathsLength(links: readonly { mountPath: string }[], stored: readonly { mountPath: string }[]): void {
  const bytesOf = (all: readonly { mountPath: string }[]) => all.reduce((sum, { mountPath }) => sum + Buffer.byteLength(mountPath), 0)
  const bytes = bytesOf(links)
  const max = bounds.texts.mountPathsBytes.value
  if (bytes > Math.max(max, bytesOf(stored)))
    throw invalidField(
      "TrainData",
      `MountPaths of at most ${max.toLocaleString("en")} bytes together`,
      `${bytes.toLocaleString("en")} bytes`,
    )
}
