import { chmod, link, mkdir, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import ssh2 from "ssh2"
import type { CliProcess } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { configDirectory, readPrivateFile, replaceFile } from "../io/private-files.ts"

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
  const directory = join(configDirectory(process), "ssh")
  const [hostKey, identity] = [join(directory, "host_ed25519"), join(directory, "id_ed25519")]
  return { directory, hostKey, identity, knownHosts: join(directory, "known_hosts"), config: join(directory, "config") }
}

/** Makes what is missing of both keys, once for this machine. */
export async function ensureKeys(process: CliProcess, files: SshFiles): Promise<void> {
  await mkdir(files.directory, { recursive: true, mode: 0o700 })
  await chmod(files.directory, 0o700)
  for (const file of [files.hostKey, files.identity]) {
    const key = createKey()
    const isNew = await writeOnce(file, key.private)
    if (isNew) await writeFile(`${file}.pub`, `${key.public}\n`, { mode: 0o600 })
  }
  await readKey(process, files.identity)
  const { type, public: blob } = publicKey(await readKey(process, files.hostKey))
  await replaceFile(files.knownHosts, `${hostKeyAlias} ${type} ${blob.toString("base64")}\n`)
}

/**
 * A key pair that every ssh reads. `ssh2` drops the zeros at the beginning of a public key, which
 * damages one pair of 256 (`lib/keygen.js` of 1.17.0): such a pair is not used.
 */
export function createKey(): { private: string; public: string } {
  for (;;) {
    const key = ssh2.utils.generateKeyPairSync("ed25519", { comment: hostKeyAlias })
    if (!(ssh2.utils.parseKey(key.private) instanceof Error)) return key
  }
}

/** A private key. Throws if other people can read it, or if it is damaged. */
export async function readKey(process: CliProcess, file: string): Promise<string> {
  const hint = `Remove ${dirname(file)} and run \`quayside ssh-config\` again.`
  const text = await readPrivateFile(process, file, { what: "is a key", hint })
  if (text === undefined)
    throw new CliError("The keys of this machine's ssh end are missing.", { hint: "`quayside ssh-config` makes them." })
  const key = ssh2.utils.parseKey(text)
  if (key instanceof Error) throw new CliError(`The key ${file} is damaged: ${key.message}.`, { hint })
  return text
}

/** The public half of what `readKey` gives. */
export function publicKey(text: string): { type: string; public: Buffer } {
  const key = ssh2.utils.parseKey(text)
  if (key instanceof Error) throw key
  return { type: key.type, public: key.getPublicSSH() }
}

/** Two calls at once make one key: the first wins. */
async function writeOnce(file: string, text: string): Promise<boolean> {
  const tempFile = `${file}.${process.pid}`
  await writeFile(tempFile, text, { mode: 0o600 })
  try {
    await link(tempFile, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  } finally {
    await rm(tempFile)
  }
}
