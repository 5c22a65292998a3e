import { bounds } from "#contract"
import { Directory, OwnerQueue, splitPath } from "#kit"
import { EngineError, type Mount } from "../engine.ts"

/**
 * The starts that look up directories or change their owners, and the ends of starts that do, by
 * person. A program can keep the kernel from doing so in its directory for seconds, and each call
 * that waits occupies a thread of the pool, which has more threads than there are turns. Each turn
 * also has all directories of a path open. To be acquired before the mounts are authorized for the
 * last time.
 */
export const mountTurns = new OwnerQueue(bounds.containers.mountPins.value, bounds.containers.mountPinsOfPerson.value)

export interface MountSourceOptions {
  mounts: readonly Mount[]
  /** As in `PinOptions`. */
  directories?: readonly string[]
  uid: number
  gid: number
}

/**
 * Opens every mount's source, in order, and creates the mount points that lie in other mounts.
 * After a failure nothing stays open.
 */
export async function openMountSources(
  filesRoot: string,
  { mounts, directories: made = [], uid, gid }: MountSourceOptions,
): Promise<AsyncDisposable & { directories: Directory[] }> {
  await using root = await Directory.open(filesRoot)
  const directories: Directory[] = []
  const close = async () => {
    await Promise.all(directories.map((directory) => directory.close()))
  }
  try {
    for (const mount of mounts) directories.push(await openSource(root, mount, uid))
    await createMountPoints([...mounts.map(({ target }) => target), ...made], { mounts, directories }, { uid, gid })
    return { directories, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openSource(root: Directory, { source, target }: Mount, uid: number): Promise<Directory> {
  const subject = `The directory ${source}, to be mounted at ${target},`
  const descend = async () => root.descend(splitPath(source))
  const directory = await descend().catch((cause: NodeJS.ErrnoException) => {
    const fault = cause.code === "ENOENT" ? "does not exist" : "is not a directory"
    throw new EngineError("mount_missing", `${subject} ${fault}`, { cause })
  })
  const { uid: owner, mode } = await directory.stat()
  if (isReadable({ owner: Number(owner), mode: Number(mode) }, uid)) return directory
  await directory.close()
  const hint = `Ask an administrator to give it to the account of the runs: \`chown -R ${uid}:${uid}\` on its directory below the files root`
  const fault = `cannot be opened by runs: it belongs to the account ${owner} of the machine, which shares it with nobody`
  throw new EngineError("mount_unreadable", `${subject} ${fault}`, { hint })
}

/**
 * Whether the runs' user may open a directory. If its owner grants anything to others, groups and
 * access lists may include that user, so only the program itself can find out.
 */
function isReadable({ owner, mode }: { owner: number; mode: number }, uid: number): boolean {
  return owner === uid ? (mode & 0o500) === 0o500 : (mode & 0o077) !== 0
}

/**
 * Creates every one of these paths that lies inside a mount, as the runs' user and without
 * following links, before the daemon would create it as root.
 */
async function createMountPoints(
  paths: readonly string[],
  { mounts, directories }: { mounts: readonly Mount[]; directories: readonly Directory[] },
  owner: { uid: number; gid: number },
): Promise<void> {
  for (const target of paths) {
    const outer = innermostOuterMount(target, mounts)
    if (!outer) continue
    const names = splitPath(target.slice(outer.target.length))
    const parent = directories[mounts.indexOf(outer)] as Directory
    const opened = outer.readOnly ? parent.descend(names) : parent.ensure(names, owner)
    const point = await opened.catch((error: unknown) => {
      const fault = outer.readOnly ? "is read-only and has no such directory" : "contains something other than a directory there"
      throw new EngineError("mount_missing", `Nothing can be mounted at ${target}: ${outer.target} ${fault}`, { cause: error })
    })
    await point.close()
  }
}

function innermostOuterMount(target: string, mounts: readonly Mount[]): Mount | undefined {
  return mounts.filter((mount) => target.startsWith(`${mount.target}/`)).sort((a, b) => b.target.length - a.target.length)[0]
}
