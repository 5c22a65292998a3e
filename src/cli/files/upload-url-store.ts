import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { CliProcess } from "../io/cli.ts"
import { replaceFile, stateDirectory } from "../io/private-files.ts"
import type { Upload, UploadUrlStore } from "./upload.ts"

/** Older ones are dropped: the server expires them. */
const maxUploads = 1_000

/**
 * The URLs of unfinished uploads in `$XDG_STATE_HOME/quayside/uploads.json`. A file that
 * changed meanwhile has another key, so its bytes are never mixed with the earlier ones.
 */
export async function openUploadUrlStore(process: CliProcess, server: string): Promise<UploadUrlStore> {
  const file = join(stateDirectory(process), "uploads.json")
  const addresses = new Map(Object.entries(await readJson(file)))
  const keyOf = ({ file: local, size, modifiedMs, path }: Upload) => JSON.stringify([server, path, local, size, modifiedMs])
  let last = Promise.resolve()
  const save = () => replaceFile(file, JSON.stringify(Object.fromEntries([...addresses].slice(-maxUploads))))
  return {
    get: (upload) => addresses.get(keyOf(upload)),
    set: (upload, address) => {
      if (address === undefined) addresses.delete(keyOf(upload))
      else addresses.set(keyOf(upload), address)
      last = last.then(save)
      return last
    },
  }
}

/** A file that is missing or damaged costs a repeated upload, and nothing else. */
async function readJson(file: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Record<string, string>
  } catch {
    return {}
  }
}
