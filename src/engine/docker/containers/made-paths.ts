import { posix } from "node:path"
import { EngineError, type ImageInfo, type RunSpec } from "../../engine.ts"
import type { Route } from "../images/image-paths.ts"
import { tmpfsTargets } from "./container-options.ts"

/** Mounted by the container runtime in every container. */
const fixedFiles = ["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/sbin/docker-init", "/dev/shm"]

/**
 * The directories that the container runtime makes when they are missing, besides the targets of
 * mounts: the working directory, the image's volumes and the directories in memory.
 */
export function madeDirectories(spec: RunSpec, image: ImageInfo): string[] {
  const paths = [spec.workDir || image.workDir, ...image.volumes, ...tmpfsTargets(spec)]
  return paths.filter((path) => path.startsWith("/")).map(normalized)
}

/** Every path of the container at which the runtime may make something. */
export function madePaths(spec: RunSpec, image: ImageInfo): string[] {
  const own = image.workDir.startsWith("/") ? [normalized(image.workDir)] : []
  return [...new Set([...targetsOf(spec), ...madeDirectories(spec, image), ...own, ...fixedFiles])]
}

/**
 * Rejects an image whose links lead one of these paths into a mounted directory: the runtime would
 * make directories of root there, which their owner cannot remove. Paths that are inside a mount by
 * their name are made by `openMountSources`.
 */
export function checkRoutes(spec: RunSpec, image: ImageInfo, routeOf: (path: string) => Route): void {
  const targets = targetsOf(spec)
  const ends = new Map(targets.map((target) => [target, routeOf(target).at(-1) ?? target]))
  for (const path of madePaths(spec, image)) {
    if (targets.some((target) => path.startsWith(`${target}/`))) continue
    const entered = targets.find((target) => target !== path && routeOf(path).some((step) => isWithin(step, ends.get(target) ?? target)))
    if (entered !== undefined)
      throw new EngineError(
        "image_unavailable",
        `The image cannot be used: its links lead ${path} into ${entered}, which the project mounts`,
      )
  }
}

function targetsOf({ mounts }: RunSpec): string[] {
  return mounts.map(({ target }) => normalized(target))
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

function normalized(path: string): string {
  return posix.normalize(path).replace(/(?<=.)\/$/, "")
}
