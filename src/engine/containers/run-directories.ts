import { posix } from "node:path"
import type { ImageInfo, RunSpec } from "../engine.ts"

/** The home directory for `HOME` and `/etc/passwd`. */
export function homeDirectory(spec: RunSpec): string {
  return spec.env.HOME ?? `/home/${spec.user}`
}

/**
 * Directories in memory, which count towards the run's limit, with their modes: `/tmp`, the home,
 * and those of the spec, unless a mount provides them.
 */
export function memoryDirectories(spec: RunSpec): Map<string, string> {
  const isMounted = (path: string) => spec.mounts.some(({ target }) => path === target || path.startsWith(`${target}/`))
  const modes = new Map([[homeDirectory(spec), "0700"]])
  for (const path of spec.writablePaths ?? []) modes.set(path, "0755")
  modes.set("/tmp", "1777")
  for (const path of modes.keys()) if (isMounted(path)) modes.delete(path)
  return modes
}

/**
 * The directories that the container runtime makes when they are missing, besides the targets of
 * mounts: the working directory, the image's volumes and the directories in memory.
 */
export function runtimeCreatedDirectories(spec: RunSpec, image: ImageInfo): string[] {
  const paths = [spec.workDir || image.workDir, ...image.volumes, ...memoryDirectories(spec).keys()]
  return paths.filter((path) => path !== "").map(normalizedPath)
}

/** The runtime reads a relative path as one from the root. */
export function normalizedPath(path: string): string {
  return posix.join("/", path).replace(/(?<=.)\/$/, "")
}

/** Mounted by the runtime in every container. */
export const runtimeMounts = ["/dev/shm", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"]

/** The kernel's files: below `/proc/self/fd` the runtime has directories of the host open. */
export const kernelTrees = ["/proc", "/sys", "/dev"]

/** Whether a normalized path is this folder or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}
