import { lstat, readdir, stat } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import { localChecksum, remoteChecksum } from "../files/checksum.ts"
import { receiveFile } from "../files/download.ts"
import { FilesClient } from "../files/files-client.ts"
import { inParallel } from "../files/in-parallel.ts"
import { assertPlainName, defaultFolder, isSameFile, readLocalTree, readRemoteTree, type Tree, type TreeFile } from "../files/trees.ts"
import { sendFile } from "../files/upload.ts"
import { openUploadUrlStore } from "../files/upload-url-store.ts"
import type { Cli } from "../io/cli.ts"
import { CliError, exitCodes } from "../io/failures.ts"
import { formatBytes, parseCount, usageError } from "../io/formats.ts"
import { ProgressLine } from "../io/progress.ts"
import { sanitize } from "../io/table.ts"
import { connect } from "../session/connection.ts"
import { findData } from "../session/names.ts"

const maxParallel = 16

export async function create(
  cli: Cli,
  Name: string,
  { comment, public: isPublic }: { comment?: string; public?: boolean },
): Promise<undefined> {
  const { client } = await connect(cli)
  const body = { Name, ...(comment === undefined ? {} : { Comment: comment }), ...(isPublic ? { IsPublished: true } : {}) }
  const created = await client.createData({ body })
  cli.show(created, () => `Created dataset ${created.ID}. \`quayside data push FOLDER ${created.ID}\` uploads files.`)
  return undefined
}

interface TransferOptions {
  checksum?: boolean
  parallel: string
  dryRun?: boolean
}

interface Summary {
  files: number
  bytes: number
  unchanged: number
  skipped: string[]
}

export async function push(cli: Cli, source: string, target: string, options: TransferOptions): Promise<undefined> {
  const maxConcurrent = parseCount(options.parallel, "--parallel", { min: 1, max: maxParallel })
  const { directory, tree } = await localSource(source)
  const { client, root, token } = await resolveRemotePath(cli, target)
  const there = (await readRemoteTree(client, root)) ?? { directories: [], files: [], skipped: [] }
  const known = new Map(there.files.map((file) => [file.path, file]))
  const isSame = async (file: TreeFile) =>
    options.checksum
      ? hasSameContent(client, join(directory, file.path), `${root}/${file.path}`, file, known.get(file.path))
      : isSameFile(file, known.get(file.path))
  const wanted = await filter(tree.files, maxConcurrent, isSame)
  const summary = summaryOf(tree, wanted)
  if (!options.dryRun) {
    await createDirectories(client, root, tree, there)
    const uploadUrls = await openUploadUrlStore(cli.process, token.server)
    await transfer(cli, wanted, maxConcurrent, async (file, onBytes) => {
      const local = join(directory, file.path)
      const path = `${root}/${file.path}`
      await sendFile(client, { ...file, file: local, path }, uploadUrls, onBytes)
      if (options.checksum) await assertSameContent(client, local, path)
    })
  }
  return showSummary(cli, options.dryRun ? "Would upload" : "Uploaded", summary)
}

export async function pull(cli: Cli, source: string, target: string | undefined, options: TransferOptions): Promise<undefined> {
  const maxConcurrent = parseCount(options.parallel, "--parallel", { min: 1, max: maxParallel })
  const { client, root } = await resolveRemotePath(cli, source)
  const { tree, base } = await remoteSource(client, root)
  const directory = resolve(target ?? (await newDefaultFolder(root)))
  const isSame = async (file: TreeFile) => {
    const local = join(directory, file.path)
    const found = await localFile(local, file.path)
    if (found === undefined || found.size !== file.size) return false
    return options.checksum ? hasSameContent(client, local, `${base}/${file.path}`, file, found) : isSameFile(file, found)
  }
  const wanted = await filter(tree.files, maxConcurrent, isSame)
  if (!options.dryRun)
    await transfer(cli, wanted, maxConcurrent, async (file, onBytes) => {
      const remote = `${base}/${file.path}`
      const sha256 = await receiveFile(client, { remote, target: join(directory, file.path), file }, onBytes)
      if (options.checksum && sha256 !== (await localChecksum(join(directory, file.path)))) throw differs(file.path)
    })
  return showSummary(cli, options.dryRun ? "Would download" : "Downloaded", summaryOf(tree, wanted))
}

/** `defaultFolder`, unless it has something: the dataset's owner chose its name. */
async function newDefaultFolder(root: string): Promise<string> {
  const folder = defaultFolder(root)
  const names = await readdir(folder).catch(({ code }: { code?: string }) => (code === "ENOENT" ? [] : undefined))
  if (names?.length === 0) return folder
  throw new CliError(`${folder} is there already.`, {
    exitCode: exitCodes.conflict,
    hint: `To write into it, name it: \`quayside data pull DATASET ${folder}\`.`,
  })
}

/** A file is a folder with one file. */
async function localSource(source: string): Promise<{ directory: string; tree: Tree }> {
  const path = resolve(source)
  const found = await stat(path)
  if (found.isDirectory()) return { directory: path, tree: await readLocalTree(path) }
  if (!found.isFile()) throw new CliError(`${source} must be a file or a folder.`)
  const file = { path: basename(path), size: found.size, modifiedMs: found.mtimeMs }
  return { directory: dirname(path), tree: { directories: [], files: [file], skipped: [] } }
}

/** The place below the files root that `DATASET:PATH` names. */
export async function resolveRemotePath(cli: Cli, text: string) {
  const at = text.indexOf(":")
  const names =
    at < 0
      ? []
      : text
          .slice(at + 1)
          .split("/")
          .filter((name) => name !== "")
  for (const name of names)
    if (name === "." || name === "..") throw usageError(`A path in a dataset has no . or ..; got ${JSON.stringify(text)}`)
  const { client, token, server } = await connect(cli)
  const [dataset, { FilesURL }] = await Promise.all([findData(client, at < 0 ? text : text.slice(0, at)), client.whoami()])
  const root = [dataset.AccessInfo, ...names].join("/")
  return { client: new FilesClient(cli, FilesURL, token), root, token: { server } }
}

async function remoteSource(client: FilesClient, root: string): Promise<{ tree: Tree; base: string }> {
  const parent = dirname(root)
  const name = basename(root)
  const tree = await readRemoteTree(client, root).catch(() => undefined)
  if (tree) return { tree, base: root }
  const entry = (await client.list(parent))?.find((each) => each.Name === name && !each.IsDirectory)
  if (!entry) throw new CliError(`There is no file or folder ${root} at the server.`, { exitCode: exitCodes.notFound })
  assertPlainName(name)
  const file = { path: name, size: entry.Size ?? 0, modifiedMs: Date.parse(entry.ModifiedAt) }
  return { tree: { directories: [], files: [file], skipped: [] }, base: parent }
}

async function localFile(local: string, path: string): Promise<TreeFile | undefined> {
  const found = await lstat(local).catch(() => undefined)
  return found?.isFile() ? { path, size: found.size, modifiedMs: found.mtimeMs } : undefined
}

async function hasSameContent(
  client: FilesClient,
  local: string,
  remote: string,
  file: TreeFile,
  other: TreeFile | undefined,
): Promise<boolean> {
  if (other === undefined || other.size !== file.size) return false
  return (await localChecksum(local)) === (await remoteChecksum(client, remote))
}

async function assertSameContent(client: FilesClient, local: string, remote: string): Promise<void> {
  if ((await localChecksum(local)) !== (await remoteChecksum(client, remote))) throw differs(remote)
}

function differs(path: string): CliError {
  return new CliError(`The SHA-256 of ${path} differs after the transfer: the file changed meanwhile, or bytes were damaged. Try again.`)
}

/** The files that are not the same on both sides, in their order. */
async function filter(
  files: readonly TreeFile[],
  maxConcurrent: number,
  isSame: (file: TreeFile) => Promise<boolean>,
): Promise<TreeFile[]> {
  const same = new Set<TreeFile>()
  await inParallel(files, maxConcurrent, async (file) => {
    if (await isSame(file)) same.add(file)
  })
  return files.filter((file) => !same.has(file))
}

async function createDirectories(client: FilesClient, root: string, tree: Tree, there: Tree): Promise<void> {
  const known = new Set(there.directories)
  await createRoot(client, root)
  for (const path of tree.directories) if (!known.has(path)) await client.createDirectory(`${root}/${path}`)
}

/** A dataset's own directory exists: it is the first three names of a path below /users/NAME. */
export async function createRoot(client: FilesClient, root: string): Promise<void> {
  const parts = root.split("/")
  if ((await client.list(root)) === undefined) for (let i = 2; i <= parts.length; i += 1) await ensure(client, parts.slice(0, i).join("/"))
}

/** Parents that are not the caller's to make exist already. */
async function ensure(client: FilesClient, path: string): Promise<void> {
  if ((await client.list(path)) === undefined) await client.createDirectory(path)
}

async function transfer(
  cli: Cli,
  files: readonly TreeFile[],
  maxConcurrent: number,
  send: (file: TreeFile, onBytes: (count: number) => void) => Promise<void>,
): Promise<void> {
  using line = new ProgressLine(cli)
  const total = files.reduce((sum, { size }) => sum + size, 0)
  let done = 0
  await inParallel(files, maxConcurrent, (file) =>
    send(file, (count) => {
      done += count
      line.bytes(file.path, done, total)
    }),
  )
}

function summaryOf(tree: Tree, wanted: readonly TreeFile[]): Summary {
  const bytes = wanted.reduce((sum, { size }) => sum + size, 0)
  return { files: wanted.length, bytes, unchanged: tree.files.length - wanted.length, skipped: tree.skipped }
}

function showSummary(cli: Cli, verb: string, summary: Summary): undefined {
  const { files, bytes, unchanged, skipped } = summary
  for (const path of skipped.slice(0, 10)) cli.note(`Skipped ${sanitize(path)}: neither a file nor a folder.`)
  if (skipped.length > 10) cli.note(`… and ${skipped.length - 10} more.`)
  cli.show(summary, () => `${verb} ${files} ${files === 1 ? "file" : "files"} (${formatBytes(bytes)}); ${unchanged} unchanged.`)
  return undefined
}
