import { chmod, link, mkdir, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import ssh2 from "ssh2"
import type { CliProcess } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { configFolder, readPrivateFile, replaceFile } from "../io/own-files.ts"

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
  const directory = join(configFolder(process), "ssh")
  const [hostKey, identity] = [join(directory, "host_ed25519"), join(directory, "id_ed25519")]
  return { directory, hostKey, identity, knownHosts: join(directory, "known_hosts"), config: join(directory, "config") }
}

/** Makes what is missing of both keys, once for this machine. */
export async function ensureKeys(process: CliProcess, files: SshFiles): Promise<void> {
  await mkdir(files.directory, { recursive: true, mode: 0o700 })
  await chmod(files.directory, 0o700)
  for (const file of [files.hostKey, files.identity]) {
    const key = ssh2.utils.generateKeyPairSync("ed25519", { comment: hostKeyAlias })
    const isNew = await writeOnce(file, key.private)
    if (isNew) await writeFile(`${file}.pub`, `${key.public}\n`, { mode: 0o600 })
  }
  const { type, public: blob } = publicKey(await readKey(process, files.hostKey))
  await replaceFile(files.knownHosts, `${hostKeyAlias} ${type} ${blob.toString("base64")}\n`)
}

/** A private key. Throws if other people can read it. */
export async function readKey(process: CliProcess, file: string): Promise<string> {
  const hint = `Remove ${dirname(file)} and run \`quayside ssh-config\` again.`
  const text = await readPrivateFile(process, file, { what: "is a key", hint })
  if (text !== undefined) return text
  throw new CliError("The keys of this machine's ssh end are missing.", { hint: "`quayside ssh-config` makes them." })
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
