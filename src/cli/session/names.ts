import type { Client } from "#client"
import type { Data, Group, Image, List, Project, RunningProject, User } from "#contract"
import { CliError, exitCodes } from "../io/failures.ts"
import { sanitize } from "../io/table.ts"

interface Named {
  ID: number
}

interface Finder<T extends Named> {
  /** The word for one of them, such as `project`. */
  noun: string
  /** The command that lists them. */
  listCommand: string
  byId(id: number): Promise<T>
  byName(name: string): Promise<readonly T[]>
  /** Tells two of the same name apart. */
  describe(found: T): string
  /** Follows the hint when nothing has the name. */
  hint?: string
}

const maxListed = 10

/** An ID, or an exact name that only one has. Several matches are listed with their IDs. */
async function findOne<T extends Named>(text: string, { noun, listCommand, byId, byName, describe, hint = "" }: Finder<T>): Promise<T> {
  if (/^\d{1,15}$/.test(text)) return byId(Number(text))
  const found = await byName(text)
  const [first] = found
  if (first && found.length === 1) return first
  if (!first)
    throw new CliError(`There is no ${noun} ${JSON.stringify(text)} that you can see.`, {
      exitCode: exitCodes.notFound,
      hint: `\`${listCommand}\` lists them. A name must match exactly; an ID is a number.${hint}`,
    })
  const lines = found.slice(0, maxListed).map((each) => `  ${each.ID}  ${sanitize(describe(each))}`)
  const more = found.length > maxListed ? [`  and ${found.length - maxListed} more`] : []
  throw new CliError(`${found.length} ${noun}s have the name ${JSON.stringify(text)}:\n${[...lines, ...more].join("\n")}`, {
    exitCode: exitCodes.conflict,
    hint: "Use the ID instead.",
  })
}

/** All pages of a list, up to a number of objects that no person sees. */
export async function readAllPages<T>(readPage: (page: number) => Promise<List<T>>, maxObjects = 100_000): Promise<T[]> {
  const all: T[] = []
  for (let page = 1; ; page += 1) {
    const { data, pageCount } = await readPage(page)
    all.push(...data)
    if (page >= pageCount || all.length >= maxObjects) return all
  }
}

const pageSize = 200

/** Nobody makes a name ambiguous by giving it to something of theirs: the caller's own counts. */
async function preferOwn<T extends { UserName: string }>(client: Client, readPage: (page: number) => Promise<List<T>>): Promise<T[]> {
  const found = await readAllPages(readPage)
  if (found.length < 2) return found
  const { UserName: me } = await client.whoami()
  const own = found.filter(({ UserName }) => UserName === me)
  return own.length > 0 ? own : found
}

export function findProject(client: Client, text: string): Promise<Project> {
  return findOne<Project>(text, {
    noun: "project",
    listCommand: "quayside project ls",
    byId: (ID) => client.readProject({ query: { ID } }),
    byName: (ProjectName) => preferOwn(client, (page) => client.listProjects({ query: { ProjectName, page, pageSize } })),
    describe: (each) => `of ${each.UserName}, ${each.Type}`,
  })
}

export function findImage(client: Client, text: string): Promise<Image> {
  return findOne<Image>(text, {
    noun: "image",
    listCommand: "quayside image ls",
    byId: (ID) => client.readImage({ query: { ID } }),
    byName: (Name) => preferOwn(client, (page) => client.listImages({ query: { Name, page, pageSize } })),
    describe: (each) => `of ${each.UserName}, ${each.Image}`,
  })
}

export function findData(client: Client, text: string): Promise<Data> {
  return findOne<Data>(text, {
    noun: "dataset",
    listCommand: "quayside data ls",
    byId: (ID) => client.listData({ query: { ID } }),
    byName: (Name) => preferOwn(client, (page) => client.listData({ query: { Name, page, pageSize } })),
    describe: (each) => `of ${each.UserName}, ${each.AccessInfo}`,
  })
}

export function findUser(client: Client, text: string): Promise<User> {
  return findOne<User>(text, {
    noun: "person",
    listCommand: "quayside user ls",
    byId: (ID) => client.readUser({ query: { ID } }),
    byName: async (UserName) => (await client.listUsers({ query: { UserName } })).data,
    describe: (each) => each.Comment,
  })
}

export function findGroup(client: Client, text: string): Promise<Group> {
  return findOne<Group>(text, {
    noun: "group",
    listCommand: "quayside group ls",
    byId: (ID) => client.readGroup({ query: { ID } }),
    byName: async (GroupName) => (await client.listGroups({ query: { GroupName } })).data,
    describe: (each) => each.Comment,
  })
}

/**
 * A run by its ID, or a live run of the caller by its project. Files, input and ports of this
 * machine go to it, so nobody else's run has a name here: anybody may share one of the same name.
 */
export function findRun(client: Client, text: string, { mayHaveEnded = false } = {}): Promise<RunningProject> {
  return findOne<RunningProject>(text, {
    noun: "run",
    listCommand: "quayside ls",
    byId: (ID) => client.readRun({ query: { ID } }),
    byName: async (name) => {
      const { UserName } = await client.whoami()
      const live = runsNamed(name, await readAllPages((page) => client.listRuns({ query: { UserName, page, pageSize } })))
      if (live.length > 0 || !mayHaveEnded) return live
      // The newest of the history is the one that people mean.
      const ended = await client.listRuns({ query: { UserName, State: "ended", pageSize } })
      return runsNamed(name, ended.data).slice(0, 1)
    },
    describe: (each) => `of ${each.UserName}, ${each.State}`,
    hint: " A run of somebody else is named by its ID.",
  })
}

function runsNamed(name: string, runs: readonly RunningProject[]): RunningProject[] {
  return runs.filter((run) => projectNameOf(run) === name)
}

/** The name of a run's project; empty if the caller may not see it. */
export function projectNameOf({ Project: project }: RunningProject): string {
  return "ProjectName" in project ? project.ProjectName : ""
}
