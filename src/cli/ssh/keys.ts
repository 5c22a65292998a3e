import { chmod, link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import ssh2 from "ssh2"
import type { CliProcess } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { contextsFile } from "../session/contexts.ts"

/** The files of the ssh end, in the client's own folder. */
export interface SshFiles {
  directory: string
  /** This program's key, by which `ssh` knows it. */
  hostKey: string
  /** The key of `ssh`, by which this program knows it. */
  identity: string
  knownHosts: string
  config: string
}

/** The name of the host key, whatever run is connected to. */
export const hostKeyAlias = "quayside-client"

export function sshFiles(process: CliProcess): SshFiles {
  const directory = join(dirname(contextsFile(process)), "ssh")
  const [hostKey, identity] = [join(directory, "host_ed25519"), join(directory, "id_ed25519")]
  return { directory, hostKey, identity, knownHosts: join(directory, "known_hosts"), config: join(directory, "config") }
}

/** Makes what is missing of both keys, once for this machine. */
export async function makeKeys(files: SshFiles): Promise<void> {
  await mkdir(files.directory, { recursive: true, mode: 0o700 })
  await chmod(files.directory, 0o700)
  for (const file of [files.hostKey, files.identity]) {
    const key = ssh2.utils.generateKeyPairSync("ed25519", { comment: hostKeyAlias })
    const isNew = await writeOnce(file, key.private)
    if (isNew) await writeFile(`${file}.pub`, `${key.public}\n`, { mode: 0o600 })
  }
  const { type, public: blob } = publicKey(await readKey(files.hostKey))
  await replaceFile(files.knownHosts, `${hostKeyAlias} ${type} ${blob.toString("base64")}\n`)
}

/** A private key. Throws if other people can read it. */
export async function readKey(file: string): Promise<string> {
  try {
    const { mode } = await stat(file)
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw new CliError(`${file} is a key and must be readable by you alone (mode 600); its mode is ${(mode & 0o777).toString(8)}`, {
        hint: `Remove ${dirname(file)} and run \`quayside ssh-config\` again.`,
      })
    return await readFile(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    throw new CliError("The keys of this machine's ssh end are missing.", { hint: "`quayside ssh-config` makes them." })
  }
}

export function publicKey(text: string): { type: string; public: Buffer } {
  const key = ssh2.utils.parseKey(text)
  if (key instanceof Error) throw new CliError(`A key of the ssh end is damaged: ${key.message}`)
  return { type: key.type, public: key.getPublicSSH() }
}

/** Two calls at once make one key: the first wins. */
async function writeOnce(file: string, text: string): Promise<boolean> {
  const draft = `${file}.${process.pid}`
  await writeFile(draft, text, { mode: 0o600 })
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  } finally {
    await rm(draft)
  }
}

export async function replaceFile(file: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${file}.${process.pid}`
  await writeFile(draft, text, { mode })
  await rename(draft, file)
}
