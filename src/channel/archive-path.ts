/**
 * The directory that `tar` begins in, and the name that it packs: the last one of the path; of a
 * path that ends in `/.` only the directory's content.
 */
export function archiveRoot(path: string): { directory: string; name: string } {
  const trimmed = path.replace(/\/+$/, "")
  const slash = trimmed.lastIndexOf("/")
  return trimmed === "" ? { directory: "/", name: "." } : { directory: trimmed.slice(0, slash) || "/", name: trimmed.slice(slash + 1) }
}

/**
 * The environment of a `tar` that copies. GNU's otherwise reads and writes 10 KiB at a time, which
 * takes twice the processor time.
 */
export const tarEnv = { TAR_OPTIONS: "--blocking-factor=128" } as const
