import type { DirectoryHandle } from "./directory-handle.ts"

/** Opens a directory that only this server writes to, and creates it first if it is missing. */
export function openOrMake(parent: DirectoryHandle, name: string): DirectoryHandle {
  try {
    parent.makeDirectory(name, 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
  return parent.openDirectory(name)
}

/** The names in a directory that only this server writes to. */
export function namesIn(directory: DirectoryHandle): string[] {
  const entries = directory.readEntries()
  const names: string[] = []
  try {
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) names.push(entry.name.toString())
  } finally {
    entries.closeSync()
  }
  return names
}
