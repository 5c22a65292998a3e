import { hkdfSync, randomBytes } from "node:crypto"
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/**
 * Creates the data directory with its subdirectories, readable by its owner only. Throws if it is
 * not writable.
 */
export function prepareDataDir(dataDir: string): void {
  makeDirectory(dataDir)
  chmodSync(dataDir, 0o700)
  const probe = join(dataDir, `.write-${process.pid}`)
  writeFileSync(probe, "")
  rmSync(probe)
  mkdirSync(join(dataDir, "secrets"), { recursive: true, mode: 0o700 })
}

/**
 * Creates missing parents one by one: `mkdir` with `recursive` never returns in file systems that
 * refuse new directories, such as /proc.
 */
function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
}

/** The key of 32 bytes for one use: made from the secret, or else kept in the data directory. */
export function secretKey({ secret, dataDir }: { secret: string; dataDir: string }, name: string): Buffer {
  return secret === "" ? keptKey(dataDir, name) : Buffer.from(hkdfSync("sha256", secret, "", `quayside ${name}`, 32))
}

/** 32 random bytes, created once. */
function keptKey(dataDir: string, name: string): Buffer {
  const file = join(dataDir, "secrets", name)
  if (!existsSync(file)) {
    // Linked into place when it is complete: a crash leaves no partial key, and if two processes
    // race, both use the first one's key.
    const tempFile = `${file}.${process.pid}`
    writeFileSync(tempFile, randomBytes(32).toString("base64"), { mode: 0o600 })
    try {
      linkSync(tempFile, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    } finally {
      rmSync(tempFile)
    }
  }
  const key = Buffer.from(readFileSync(file, "utf8"), "base64")
  if (key.length !== 32) throw new Error(`The secret ${file} is damaged: it must be 32 bytes in Base64`)
  return key
}
