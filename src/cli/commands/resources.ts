import type { Client } from "#client"
import type { Data, Image, List, Project } from "#contract"
import type { Cli } from "../io/cli.ts"
import { parseCount, usageError } from "../io/formats.ts"
import { confirm } from "../io/input.ts"
import { type Columns, formatFields, formatTable } from "../io/table.ts"
import { connect } from "../session/connection.ts"
import { findData, findImage, findProject, readAllPages } from "../session/names.ts"

export type ResourceKind = "project" | "image" | "data"
type Resource = Project | Image | Data

interface KindOperations<T extends Resource> {
  noun: string
  find(client: Client, text: string): Promise<T>
  list(client: Client, query: ListQuery): Promise<List<T>>
  remove(client: Client, ID: number): Promise<unknown>
  restore(client: Client, ID: number): Promise<T>
  columns: Columns<T>
}

interface ListQuery {
  page: number
  pageSize: number
  UserName?: string
  q?: string
  Deleted?: boolean
}

const shared = { id: (each: Resource) => String(each.ID), owner: (each: Resource) => each.UserName }

const projects: KindOperations<Project> = {
  noun: "project",
  find: findProject,
  list: (client, query) => client.listProjects({ query }),
  remove: (client, ID) => client.deleteProject({ query: { ID } }),
  restore: (client, ID) => client.restoreProject({ query: { ID } }),
  columns: {
    id: shared.id,
    name: (each) => each.ProjectName,
    type: (each) => each.Type,
    image: (each) => ("Name" in each.Image ? each.Image.Name : String(each.ImageID)),
    owner: shared.owner,
    running: (each) => (each.Running ? "yes" : ""),
    comment: (each) => each.Comment,
  },
}

const images: KindOperations<Image> = {
  noun: "image",
  find: findImage,
  list: (client, query) => client.listImages({ query }),
  remove: (client, ID) => client.deleteImage({ query: { ID } }),
  restore: (client, ID) => client.restoreImage({ query: { ID } }),
  columns: {
    id: shared.id,
    name: (each) => each.Name,
    reference: (each) => each.Image,
    owner: shared.owner,
    public: (each) => (each.IsPublished ? "yes" : ""),
    comment: (each) => each.Comment,
  },
}

const datasets: KindOperations<Data> = {
  noun: "dataset",
  find: findData,
  list: (client, query) => client.listData({ query }),
  remove: (client, ID) => client.deleteData({ query: { ID } }),
  restore: (client, ID) => client.restoreData({ query: { ID } }),
  columns: {
    id: shared.id,
    name: (each) => each.Name,
    owner: shared.owner,
    public: (each) => (each.IsPublished ? "yes" : ""),
    directory: (each) => each.AccessInfo,
    comment: (each) => each.Comment,
  },
}

const kinds = { project: projects, image: images, data: datasets } as const

/** The operations of a kind, for code that is the same for all three. */
function operationsOf(kind: ResourceKind): KindOperations<Resource> {
  return kinds[kind] as unknown as KindOperations<Resource>
}

interface ListOptions {
  mine?: boolean
  query?: string
  deleted?: boolean
}

export function listHandler(kind: ResourceKind) {
  const { noun, list, columns } = operationsOf(kind)
  return async (cli: Cli, { mine, query: q, deleted }: ListOptions): Promise<undefined> => {
    const { client } = await connect(cli)
    const query = {
      ...(mine ? { UserName: (await client.whoami()).UserName } : {}),
      ...(q === undefined ? {} : { q }),
      ...(deleted ? { Deleted: true } : {}),
    }
    const found = await readAllPages((page) => list(client, { ...query, page, pageSize: 200 }))
    if (found.length === 0) cli.note(`There is no ${noun} to show.`)
    if (found.length > 0 || cli.isJson) cli.show(found, () => formatTable(found, columns, (text) => cli.colour("bold", text)))
    return undefined
  }
}

export function showHandler(kind: ResourceKind) {
  const { find } = operationsOf(kind)
  return async (cli: Cli, name: string): Promise<undefined> => {
    const { client } = await connect(cli)
    const found = await find(client, name)
    cli.show(found, () => formatFields(readable(found)))
    return undefined
  }
}

/** References by name instead of whole objects. */
function readable(found: Resource): Record<string, unknown> {
  const { DeletedAt: _deleted, ...rest } = found
  if (!("TrainData" in rest)) return rest
  const { Image: image, TrainData, ...project } = rest
  return {
    ...project,
    Image: "Name" in image ? `${image.Name} (${image.ID})` : image.ID,
    Data: TrainData.map(({ Data, MountPath }) => `${"Name" in Data ? Data.Name : Data.ID} at ${MountPath}`),
  }
}

export function removeHandler(kind: ResourceKind) {
  const { noun, find, remove } = operationsOf(kind)
  return async (cli: Cli, name: string, options: { yes?: boolean }): Promise<undefined> => {
    const { client } = await connect(cli)
    const { ID } = await find(client, name)
    await confirm(cli, `Delete the ${noun} ${name} (${ID})?`, options)
    await remove(client, ID)
    cli.show({ ID }, () => `Deleted. \`quayside ${kind} restore ${ID}\` undoes it.`)
    return undefined
  }
}

export function restoreHandler(kind: ResourceKind) {
  const { noun, restore } = operationsOf(kind)
  return async (cli: Cli, id: string): Promise<undefined> => {
    const { client } = await connect(cli)
    const restored = await restore(client, parseCount(id, "ID", { min: 1 }))
    cli.show(restored, () => `The ${noun} ${restored.ID} is back.`)
    return undefined
  }
}

interface ProjectOptions {
  image?: string
  type?: string
  data?: string[]
  group?: string
  comment?: string
  public?: boolean
}

export async function createProject(cli: Cli, ProjectName: string, options: ProjectOptions): Promise<undefined> {
  if (options.image === undefined || options.type === undefined) throw usageError("A project needs --image and --type.")
  const { client } = await connect(cli)
  const created = await client.createProject({ body: { ProjectName, ...(await projectFields(client, options)) } })
  return showChanged(cli, created, `Created project ${created.ID}.`)
}

export async function editProject(cli: Cli, name: string, options: ProjectOptions): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID } = await findProject(client, name)
  return showChanged(cli, await client.updateProject({ body: { ID, ...(await projectFields(client, options)) } }), `Changed project ${ID}.`)
}

async function projectFields(client: Client, { image, type, data, group, comment, public: isPublic }: ProjectOptions): Promise<object> {
  return {
    ...(image === undefined ? {} : { ImageID: (await findImage(client, image)).ID }),
    ...(type === undefined ? {} : { Type: type }),
    ...(data === undefined ? {} : { TrainData: await Promise.all(data.map((text) => dataPart(client, text))) }),
    ...(group === undefined ? {} : { GroupName: group }),
    ...(comment === undefined ? {} : { Comment: comment }),
    ...(isPublic === undefined ? {} : { IsPublic: isPublic }),
  }
}

async function dataPart(client: Client, text: string): Promise<object> {
  const at = text.indexOf(":/")
  const { ID } = await findData(client, at < 0 ? text : text.slice(0, at))
  return at < 0 ? { ID } : { ID, MountPath: text.slice(at + 1) }
}

export async function copyProject(cli: Cli, name: string): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID } = await findProject(client, name)
  const copy = await client.copyProject({ query: { ID } })
  return showChanged(cli, copy, `Project ${copy.ID} is your copy.`)
}

export async function releaseProject(cli: Cli, name: string): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID } = await findProject(client, name)
  return showChanged(cli, await client.releaseProject({ query: { ID } }), `Released the code of project ${ID}.`)
}

interface ImageOptions {
  reference?: string
  command?: string
  env?: string[]
  port?: string
  comment?: string
  public?: boolean
}

export async function createImage(cli: Cli, Name: string, reference: string, options: ImageOptions): Promise<undefined> {
  const { client } = await connect(cli)
  const created = await client.createImage({ body: { Name, ...imageFields({ ...options, reference }) } })
  return showChanged(cli, created, `Created image ${created.ID}.`)
}

export async function editImage(cli: Cli, name: string, options: ImageOptions): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID } = await findImage(client, name)
  return showChanged(cli, await client.updateImage({ body: { ID, ...imageFields(options) } }), `Changed image ${ID}.`)
}

function imageFields({ reference, command, env, port, comment, public: isPublished }: ImageOptions): object {
  return {
    ...(reference === undefined ? {} : { Image: reference }),
    ...(command === undefined ? {} : { Command: command }),
    ...(env === undefined ? {} : { Env: JSON.stringify(Object.fromEntries(env.map(parseVariable))) }),
    ...(port === undefined ? {} : { Port: port }),
    ...(comment === undefined ? {} : { Comment: comment }),
    ...(isPublished === undefined ? {} : { IsPublished: isPublished }),
  }
}

function parseVariable(text: string): [string, string] {
  const at = text.indexOf("=")
  if (at < 1) throw usageError(`--env must be KEY=VALUE; got ${JSON.stringify(text)}`)
  return [text.slice(0, at), text.slice(at + 1)]
}

export async function pullImage(cli: Cli, name: string): Promise<undefined> {
  const { client } = await connect(cli)
  const { ID } = await findImage(client, name)
  cli.note("Fetching the image …")
  const check = await client.pullImage({ query: { ID } })
  cli.show(check, () => `Image ${ID} is there.`)
  return undefined
}

function showChanged(cli: Cli, changed: Resource, sentence: string): undefined {
  for (const warning of ("Warnings" in changed && changed.Warnings) || []) cli.note(warning)
  cli.show(changed, () => sentence)
  return undefined
}
