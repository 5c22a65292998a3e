import { readFile, realpath } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import type { Cli, CliProcess } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { replaceFile } from "../io/private-files.ts"
import { findControlledRun } from "../session/control.ts"
import { ensureKeys, hostKeyAlias, readKey, type SshFiles, sshFiles } from "../ssh/keys.ts"
import { quoteForShell } from "../ssh/run-shell.ts"
import { serveSsh } from "../ssh/ssh-server.ts"

const suffix = ".quayside"

/** The program between `ssh` and a run: it speaks ssh on its standard input and output. */
export async function sshProxy(cli: Cli, host: string): Promise<undefined> {
  const files = sshFiles(cli.process)
  const [hostKey, identity] = await Promise.all([readKey(cli.process, files.hostKey), readKey(cli.process, files.identity)])
  const name = host.toLowerCase().endsWith(suffix) ? host.slice(0, -suffix.length) : host
  const connection = await (await findControlledRun(cli, name)).open()
  const { stdin, stdout } = cli.process
  try {
    await serveSsh({ input: stdin, output: stdout, connection, hostKey, identity })
  } finally {
    connection.close(1000, "")
    stdin.destroy()
  }
  return undefined
}

/** Makes the keys and tells `ssh` how to reach runs. Says what it wrote. */
export async function sshConfig(cli: Cli, { print = false }: { print?: boolean }): Promise<undefined> {
  const files = sshFiles(cli.process)
  const text = configText(cli, files)
  if (print) {
    cli.show({ config: text }, () => text.trimEnd())
    return undefined
  }
  await ensureKeys(cli.process, files)
  await replaceFile(files.config, text)
  const { file, isNew } = await include(cli.process, files.config)
  cli.show({ config: files.config, included: file, knownHosts: files.knownHosts, identity: files.identity }, () =>
    [
      `Wrote ${files.config}, with keys and known_hosts beside it.`,
      isNew ? `Added one line to ${file}, which includes it.` : `${file} includes it already.`,
      `Now \`ssh NAME${suffix}\` works, where NAME is the ID of a run or the name of its project.`,
    ].join("\n"),
  )
  return undefined
}

function configText({ process: { program, platform }, options: { context } }: Cli, files: SshFiles): string {
  const args = [...program, "ssh-proxy", ...(context === undefined ? [] : ["--context", context])]
  // The name comes from whoever wrote the address, such as that of a git submodule.
  const command = [...args.map((each) => shellWord(each, platform)), "--", platform === "win32" ? '"%n"' : "'%n'"]
  return `# Written by \`quayside ssh-config\`, which replaces it.
Host *${suffix}
  ProxyCommand ${command.join(" ")}
  HostKeyAlias ${hostKeyAlias}
  UserKnownHostsFile ${configWord(files.knownHosts)}
  StrictHostKeyChecking yes
  CheckHostIP no
  IdentityFile ${configWord(files.identity)}
  IdentitiesOnly yes
  PreferredAuthentications publickey
`
}

function shellWord(text: string, platform: NodeJS.Platform): string {
  return percentless(platform === "win32" ? `"${text}"` : quoteForShell(text))
}

/** `ssh` knows no way to write a quote inside of quotes. */
function configWord(path: string): string {
  if (/["\n]/.test(path)) throw new CliError(`ssh cannot read a file of this name: ${JSON.stringify(path)}`)
  return `"${percentless(path.replaceAll("\\", "/"))}"`
}

function percentless(text: string): string {
  return text.replaceAll("%", "%%")
}

/** The line stands first: below a `Host` it would count for that one only. */
async function include({ env }: CliProcess, config: string): Promise<{ file: string; isNew: boolean }> {
  const named = join(env.HOME || homedir(), ".ssh", "config")
  const line = `Include ${configWord(config)}`
  const file = await realpath(named).catch(() => named)
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return ""
    throw error
  })
  if (text.split(/\r?\n/).includes(line)) return { file: named, isNew: false }
  await replaceFile(file, `${line}\n${text === "" ? "" : `\n${text}`}`)
  return { file: named, isNew: true }
}
