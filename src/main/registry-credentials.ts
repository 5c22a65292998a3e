import { readFileSync, statSync } from "node:fs"
import { Failure } from "#contract"
import { type CredentialEntry, parseCredentials } from "#images"
import { SettingError } from "./settings/setting.ts"

/**
 * Reads the credentials file; an empty name means none. Throws a `SettingError` that quotes nothing
 * from the file.
 */
export function readRegistryCredentials(file: string): CredentialEntry[] {
  if (file === "") return []
  const name = `The credentials file ${file}, which QUAYSIDE_REGISTRY_CREDENTIALS names,`
  try {
    const mode = statSync(file).mode & 0o777
    if ((mode & 0o077) !== 0)
      throw new SettingError(`${name} must be readable by its owner only (mode 600); its mode is ${mode.toString(8).padStart(3, "0")}`)
    return parseCredentials(readFileSync(file, "utf8"))
  } catch (error) {
    if (error instanceof Failure) throw new SettingError(`${name} cannot be used: ${error.message}`)
    if (error instanceof SettingError) throw error
    throw new SettingError(`${name} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}
