import { chownSync, mkdirSync } from "node:fs"
import type { FileOwner } from "../process/messages.ts"
import { DirectoryHandle } from "./directory-handle.ts"

/**
 * Opens the files root and creates it when missing. The main process changes nothing else:
 * everything below belongs to the worker.
 */
export function openRoot(path: string, owner: FileOwner | undefined): DirectoryHandle {
  mkdirSync(path, { recursive: true, mode: 0o755 })
  if (process.getuid?.() === 0 && owner) chownSync(path, owner.uid, owner.gid)
  return DirectoryHandle.open(path)
}
