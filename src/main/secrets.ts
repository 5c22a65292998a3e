import { randomBytes } from "node:crypto"
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/**
 * Makes the data directory and what lies in it, readable by its owner only. Throws when it cannot
 * be written to.
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
 * With those above it. One at a time: where nothing can be made, as in /proc, Node's own way to do
 * it never ends.
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

/** A key of 32 random bytes, made at the first start and the same ever after. */
export function secretKey(dataDir: string, name: string): Buffer {
  const file = join(dataDir, "secrets", name)
  if (!existsSync(file)) {
    // Written whole under another name first: a crash leaves no half key, and of two processes one
    // wins.
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, randomBytes(32).toString("base64"), { mode: 0o600 })
    try {
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    } finally {
      rmSync(draft)
    }
  }
  const key = Buffer.from(readFileSync(file, "utf8"), "base64")
  if (key.length !== 32) throw new Error(`The secret ${file} is damaged: 32 bytes in Base64 are wanted`)
  return key
}
