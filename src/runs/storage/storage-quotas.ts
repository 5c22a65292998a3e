import type { EffectiveLimits } from "#contract"
import { Yielder } from "#kit"
import { type RowPage, type RowPageRequest, type Store, type UserRow, unrestrictedViewer } from "#store"
import { loadLimits } from "../limits/effective-limits.ts"
import { divideAreas } from "./storage-areas.ts"
import type { StorageAccount, StorageCount, StorageQuota } from "./storage-meter.ts"

const mib = 2 ** 20
const pageSize = 1_000
/** How long an account's list of roots is cached, and a group's members, unless they change. */
const maxAgeMs = 30_000

/** IDs of what has changed. */
interface Changes {
  users: Set<number>
  groups: Set<number>
  datasets: Set<number>
}

const noChanges = (): Changes => ({ users: new Set(), groups: new Set(), datasets: new Set() })

type Readable = Pick<Store, "users" | "groups" | "data" | "projects">

/** Storage limits and the latest counts of all people, for the main process. */
export class StorageQuotas {
  readonly #store: Readable
  readonly #defaults: EffectiveLimits
  readonly #counts = new Map<string, StorageCount & { at: number; maxBytes: number | null }>()
  readonly #uncounted = new Set<string>()
  #changes = noChanges()
  readonly #accounts = new Map<string, { account: StorageAccount; until: number }>()
  /** By the group's ID. Each member's quota names all of them. */
  readonly #members = new Map<number, { names: Promise<string[]>; until: number }>()
  readonly #yielder = new Yielder()

  /** `defaults` apply to people without a limit of their own or of a group. */
  constructor(store: Readable, defaults: EffectiveLimits) {
    this.#store = store
    this.#defaults = defaults
  }

  /**
   * Null: the person does not exist. A person without a count, or with one for another limit, is
   * added to the next round of counts. Quotas of many people are read in several turns of the event
   * loop: each names all members of the person's groups, of which there may be thousands.
   */
  async quotaOf(userName: string): Promise<StorageQuota | null> {
    const slice = this.#yielder.pause()
    // Without a wait the work begins at once, so that the next of many callers sees its time.
    if (slice) await slice
    const user = await this.#store.users.byName(userName)
    if (!user || user.deletedAt !== null) return null
    const { users, groups: allGroups } = this.#store
    const reads = { users, groups: { ofUser: (id: number) => allGroups.ofUser(id), members: (id: number) => this.#membersOf(id) } }
    const { limits, quotas } = await loadLimits(reads, [user.id], this.#defaults)
    const own = limits.get(user.id)?.MaxStorage ?? null
    const groups = quotas.flatMap(({ groupName, limits: { MaxStorage = null }, members }) =>
      MaxStorage === null ? [] : [{ groupName, maxBytes: MaxStorage * mib, members: [...members] }],
    )
    const names = [...new Set([userName, ...groups.flatMap(({ members }) => members)])]
    if (own !== null || groups.length > 0) for (const name of names) if (!this.#counts.has(name)) this.#uncounted.add(name)
    const maxBytes = own === null ? null : own * mib
    const last = this.#counts.get(userName)
    if (last && last.maxBytes !== maxBytes) this.#uncounted.add(userName)
    const counted = Object.fromEntries(
      names.flatMap((name) => (this.#counts.has(name) ? [[name, this.#counts.get(name)?.bytes ?? 0]] : [])),
    )
    return { account: await this.#accountOf(user), maxBytes, groups, counted }
  }

  /** The people whose quotas count these paths below the files root. */
  async ownersOf(paths: readonly string[]): Promise<Set<string>> {
    const owners = await this.#store.data.ownersOf(paths)
    return new Set(paths.flatMap((path) => owners.get(path) ?? /^\/users\/([^/]+)/.exec(path)?.[1] ?? []))
  }

  countOf(userName: string): (StorageCount & { at: number }) | undefined {
    return this.#counts.get(userName)
  }

  recordCount(userName: string, count: StorageCount & { at: number; maxBytes: number | null }): void {
    this.#uncounted.delete(userName)
    this.#counts.set(userName, count)
  }

  /** Records that a person, group or dataset has changed; others play no part here. */
  recordChange({ type, id }: { type: string; id: number }): void {
    if (type === "user") this.#changes.users.add(id)
    if (type === "group") {
      this.#changes.groups.add(id)
      this.#members.delete(id)
    }
    if (type === "data") this.#changes.datasets.add(id)
  }

  /** The changes since the last call. */
  takeChanges(): Changes {
    const changes = this.#changes
    this.#changes = noChanges()
    return changes
  }

  /** The names of the changed people and of the members of changed groups. */
  async changedPeople({ users, groups }: Changes): Promise<Set<string>> {
    const rows = await Promise.all([...users].map((id) => this.#store.users.get(id)))
    const members = await Promise.all([...groups].map((id) => this.#store.groups.members(id)))
    return new Set([...rows.flatMap((row) => row?.userName ?? []), ...members.flat()])
  }

  /** Adds the owner of a dataset to the next round of counts. */
  async recountOwnerOf(dataId: number): Promise<void> {
    const owner = (await this.#store.data.get(dataId))?.userName
    if (owner === undefined) return
    this.#accounts.delete(owner)
    this.#uncounted.add(owner)
  }

  /** The names of everybody, for one count of each. */
  async *everybody(): AsyncGenerator<string> {
    for (let page = 1; ; page += 1) {
      const { rows } = await this.#store.users.list({}, { page, pageSize })
      for (const { userName } of rows) yield userName
      if (rows.length < pageSize) return
    }
  }

  /** People who need their first count. */
  drainUncounted(): string[] {
    const names = [...this.#uncounted]
    this.#uncounted.clear()
    return names
  }

  /**
   * Home, datasets, and the released code of projects, also of deleted ones. Other people's
   * datasets below them count for their owners; the person's own ones are separate areas.
   */
  async #accountOf(user: UserRow): Promise<StorageAccount> {
    const known = this.#accounts.get(user.userName)
    if (known && known.until > performance.now()) return known.account
    const account = await this.#readAccount(user)
    this.#accounts.set(user.userName, { account, until: performance.now() + maxAgeMs })
    return account
  }

  #membersOf(groupId: number): Promise<string[]> {
    const known = this.#members.get(groupId)
    if (known && known.until > performance.now()) return known.names
    const names = this.#store.groups.members(groupId)
    this.#members.set(groupId, { names, until: performance.now() + maxAgeMs })
    names.catch(() => this.#members.delete(groupId))
    return names
  }

  async #readAccount({ id, userName }: UserRow): Promise<StorageAccount> {
    const home = `/users/${userName}`
    const datasets = await all(async (page) => {
      const { rows, total } = await this.#store.data.list({ where: { userId: id } }, unrestrictedViewer, page)
      // A list lacks long directories.
      return { rows: await this.#store.data.parts(rows.map((row) => row.id)), total }
    })
    // Deleted ones keep their released code, to be restored with it.
    const projectsThat = (deleted: boolean) =>
      all((page) => this.#store.projects.list({ where: { userId: id }, deleted }, unrestrictedViewer, page))
    const projects = [...(await projectsThat(false)), ...(await projectsThat(true))]
    const own = new Set([home, ...datasets.map(({ accessInfo }) => accessInfo)])
    const outside = [...own].filter((root) => root === home || !root.startsWith(`${home}/`))
    const around = (await Promise.all(outside.map((root) => this.#store.data.overlapping(root)))).flat()
    const others = new Set(around.filter(({ userId }) => userId !== id).map(({ accessInfo }) => accessInfo))
    const { roots, excluded, subAreas } = divideAreas(own, others)
    return {
      name: userName,
      userId: id,
      roots: [...roots, ...projects.map((project) => `/projects/${project.id}/release`)],
      excluded,
      subAreas,
    }
  }
}

async function all<Row>(list: (page: RowPageRequest) => Promise<RowPage<Row>>): Promise<Row[]> {
  const rows: Row[] = []
  for (let page = 1; ; page += 1) {
    const found = await list({ page, pageSize })
    rows.push(...found.rows)
    if (found.rows.length < pageSize) return rows
  }
}
