import type { RunSpec } from "../engine.ts"

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
