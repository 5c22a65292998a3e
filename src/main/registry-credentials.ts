import { readFileSync, statSync } from "node:fs"
import { Failure } from "#contract"
import { type CredentialEntry, parseCredentials } from "#images"
import { SettingError } from "./settings/setting.ts"

/**
 * Reads the credentials file; empty: there is none. Throws a `SettingError`, which shows nothing of
 * the file.
 */
export function readRegistryCredentials(file: string): CredentialEntry[] {
  if (file === "") return []
  const name = `The credentials file ${file}, which QUAYSIDE_REGISTRY_CREDENTIALS names,`
  try {
    const mode = statSync(file).mode & 0o777
    if ((mode & 0o077) !== 0)
      throw new SettingError(`${name} must be for its owner only: mode 600 is wanted, it has ${mode.toString(8).padStart(3, "0")}`)
    return parseCredentials(readFileSync(file, "utf8"))
  } catch (error) {
    if (error instanceof Failure) throw new SettingError(`${name} cannot be used: ${error.message}`)
    if (error instanceof SettingError) throw error
    throw new SettingError(`${name} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}
