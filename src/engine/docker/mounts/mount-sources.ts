import { Directory, splitPath } from "#kit"
import { EngineError, type Mount } from "../../engine.ts"

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
    for (const mount of mounts) directories.push(await openSource(root, mount))
    await createMountPoints([...mounts.map(({ target }) => target), ...made], { mounts, directories }, { uid, gid })
    return { directories, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openSource(root: Directory, { source }: Mount): Promise<Directory> {
  try {
    return await root.descend(splitPath(source))
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT"
    const fault = isMissing ? "does not exist" : "is not a directory"
    throw new EngineError("mount_missing", `The mount source ${source} ${fault}`, { cause: error })
  }
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
