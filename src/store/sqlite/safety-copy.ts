import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Logger } from "#kit"
import { StoreError } from "../errors.ts"

export interface SafetyCopyOptions {
  file: string
  version: number
  now: () => number
  logger: Logger
}

/** Makes a complete, checked copy beside the database before a migration. Returns its path. */
export function makeSafetyCopy(db: DatabaseSync, options: SafetyCopyOptions): string {
  const stamp = new Date(options.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")
  const copy = `${options.file}.version-${options.version}-${stamp}`
  const half = `${options.file}.copy`
  try {
    rmSync(half, { force: true })
    closeSync(openSync(half, "a", 0o600))
    db.prepare("vacuum into ?").run(half)
    verify(half)
    sync(half)
    renameSync(half, copy)
    sync(dirname(copy))
  } catch (error) {
    rmSync(half, { force: true })
    throw new StoreError(
      "migration",
      `The database ${options.file} was not migrated: no copy of it could be made (${reasonOf(error)})`,
      error,
    )
  }
  options.logger.info({ copy }, "Database copied before its migration")
  return copy
}

function verify(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const result = db.prepare("pragma quick_check(1)").get()?.quick_check
    if (result !== "ok") throw new Error(`the copy is damaged: ${result}`)
  } finally {
    db.close()
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
