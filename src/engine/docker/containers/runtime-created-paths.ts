import { isWithin, kernelTrees, normalizedPath, runtimeCreatedDirectories, runtimeMounts } from "../../containers/run-directories.ts"
import { EngineError, type ImageInfo, type RunSpec } from "../../engine.ts"
import type { PathTrace } from "../images/image-path-resolver.ts"

/** Docker also mounts its own init. */
const fixedFiles = [...runtimeMounts, "/sbin/docker-init"]

/** Every path of the container at which the runtime may make something. */
export function runtimeCreatedPaths(spec: RunSpec, image: ImageInfo): string[] {
  const own = image.workDir === "" ? [] : [normalizedPath(image.workDir)]
  return [...new Set([...targetsOf(spec), ...runtimeCreatedDirectories(spec, image), ...own, ...fixedFiles])]
}

/** The runtime acts at the path with its own rights, before the program has lost them. */
function checkKernelTrees(path: string, route: PathTrace): void {
  const tree = fixedFiles.includes(path) ? undefined : kernelTrees.find((each) => leadsInto([path, ...route], each))
  if (tree === undefined) return
  const where = isWithin(path, tree) ? path : `${path}, which leads into ${tree},`
  throw new EngineError(
    "image_unavailable",
    `The image cannot be used: ${where} may be neither its working directory nor a volume or mount point`,
  )
}

/**
 * Rejects an image that leads one of these paths into the kernel's files, or by its links into a
 * mounted directory: the runtime would make directories of root there, which their owner cannot
 * remove. Paths that are inside a mount by their name are made by `openMountSources`.
 */
export function checkRuntimeCreatedPaths(spec: RunSpec, image: ImageInfo, routeOf: (path: string) => PathTrace): void {
  const targets = targetsOf(spec)
  const ends = new Map(targets.map((target) => [target, routeOf(target).at(-1) ?? target]))
  for (const path of runtimeCreatedPaths(spec, image)) {
    // It may have hundreds of names, and is compared with every mount.
    const route = routeOf(path)
    checkKernelTrees(path, route)
    if (targets.some((target) => path.startsWith(`${target}/`))) continue
    const entered = targets.find((target) => target !== path && leadsInto(route, ends.get(target) ?? target))
    if (entered !== undefined)
      throw new EngineError(
        "image_unavailable",
        `The image cannot be used: its links lead ${path} into ${entered}, which the project mounts`,
      )
  }
}

function leadsInto(route: PathTrace, folder: string): boolean {
  const below = `${folder}/`
  return route.some((step) => step === folder || step.startsWith(below))
}

function targetsOf({ mounts }: RunSpec): string[] {
  return mounts.map(({ target }) => normalizedPath(target))
}
