import { randomBytes } from "node:crypto"
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Makes the data directory and what lies in it, readable by its owner only. Throws when it cannot be written to. */
export function prepareDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  chmodSync(dataDir, 0o700)
  const probe = join(dataDir, `.write-${process.pid}`)
  writeFileSync(probe, "")
  rmSync(probe)
  mkdirSync(join(dataDir, "secrets"), { recursive: true, mode: 0o700 })
}

/** A key of 32 random bytes, made at the first start and the same ever after. */
export function secretKey(dataDir: string, name: string): Buffer {
  const file = join(dataDir, "secrets", name)
  if (!existsSync(file)) {
    // Written whole under another name first: a crash leaves no half key, and of two processes one wins.
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
