import type { UploadSource } from "./upload-queue.ts"

/** Dropped or chosen files with their paths, and directories, also empty ones. */
export interface DroppedItems {
  files: UploadSource[]
  directories: string[]
}

/** Reads dropped files and whole directories. Must be called before the event ends. */
export async function readDropped(transfer: DataTransfer, target: string): Promise<DroppedItems> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null)
  const dropped: DroppedItems = { files: [], directories: [] }
  for (const entry of entries) await readEntry(entry, target, { target, dropped })
  return dropped
}

async function readEntry(entry: FileSystemEntry, above: string, into: { target: string; dropped: DroppedItems }): Promise<void> {
  const { target, dropped } = into
  const path = `${above}/${entry.name}`
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    dropped.files.push({ path, target, file })
    return
  }
  dropped.directories.push(path)
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  // A reader returns a hundred entries at a time.
  for (;;) {
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (entries.length === 0) return
    for (const each of entries) await readEntry(each, path, into)
  }
}

/** The same for files that were chosen in a dialog; those of a directory know their path in it. */
export function chosenFiles(list: Iterable<File>, target: string): DroppedItems {
  return { files: [...list].map((file) => ({ path: `${target}/${file.webkitRelativePath || file.name}`, target, file })), directories: [] }
}
