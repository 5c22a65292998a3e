import { type Limits, unsetLimits } from "#contract"
import type { RunRow, Store } from "#store"

/** Limits of the simulation's people, in their order. */
export const peopleLimits: readonly Limits[] = [
  { MaxRuns: 3, MaxCpus: 4 },
  { MaxGpus: 1, IdleMinutes: 4 },
  { MaxRunHours: 1, MaxQueued: 1 },
  {},
]

const groupLimits = { MaxGpus: 2, MaxRuns: 4 }
const projectCount = 4

export interface People {
  ids: number[]
  projectIds: number[]
  group: { members: ReadonlySet<number>; limits: typeof groupLimits }
}

export interface Totals {
  MaxRuns: number
  MaxCpus: number
  MaxGpus: number
  MaxQueued: number
}

export function totalsOf(runs: readonly RunRow[]) {
  const sum = (amount: (run: RunRow) => number) => runs.reduce((total, run) => total + amount(run), 0)
  return { runs: runs.length, cpus: sum(({ cpus }) => cpus), gpus: sum(({ gpus }) => gpus), memoryMiB: sum(({ memoryMiB }) => memoryMiB) }
}

/** Fills a new database. The first two people are members of a group with limits of its own. */
export function populate(store: Store): Promise<People> {
  return store.change(async (tx) => {
    const ids: number[] = []
    for (const [n, limits] of peopleLimits.entries()) {
      const person = {
        passwordHash: null,
        email: "",
        comment: "",
        isAdmin: false,
        isDisabled: false,
        limits: { ...unsetLimits, ...limits },
      }
      ids.push((await tx.users.insert({ ...person, userName: `person${n}` })).id)
    }
    const group = await tx.groups.insert({ groupName: "lab", comment: "", limits: unsetLimits, totalLimits: groupLimits })
    await tx.groups.setMembers(group.id, ids.slice(0, 2))
    const common = { userId: ids[0] ?? 0, comment: "", doc: "", isTrusted: false, writtenBy: 0 }
    const image = await tx.images.insert({
      ...common,
      name: "i",
      image: "fake/http",
      command: "",
      env: "",
      port: "",
      writablePaths: [],
      keepPresent: false,
      isPublished: true,
    })
    const paths = { userPath: "", codePath: "", modelPath: "", startMinutes: 0, idleMinutes: 0, maxRunHours: 0 }
    const projectIds: number[] = []
    for (let n = 0; n < projectCount; n += 1) {
      const project = { ...common, ...paths, projectName: `p${n}`, type: "http" as const, isPublic: true, imageId: image.id, groupId: 0 }
      projectIds.push((await tx.projects.insert(project)).id)
    }
    return { ids, projectIds, group: { members: new Set(ids.slice(0, 2)), limits: groupLimits } }
  })
}
