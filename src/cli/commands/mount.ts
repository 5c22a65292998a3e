import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir } from "node:fs/promises"
import { resolve } from "node:path"
import { accountNameError } from "#contract"
import { defaultFolder } from "../files/trees.ts"
import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { connect } from "../session/connection.ts"
import { findData } from "../session/names.ts"

/**
 * Prints or runs the command by which this system mounts a dataset. The password that it asks for
 * is a token: neither the command nor the list of processes has it.
 */
export async function mount(
  cli: Cli,
  name: string,
  directory: string | undefined,
  { run = false }: { run?: boolean },
): Promise<number | undefined> {
  const { client } = await connect(cli)
  const { FilesURL, UserName } = await client.whoami()
  const path = name === "home" ? `/users/${UserName}` : (await findData(client, name)).AccessInfo
  const address = `${FilesURL}${path.split("/").map(encodeURIComponent).join("/")}/`
  const target = resolve(directory ?? defaultFolder(path))
  const command = mountCommand(cli.process.platform, { address, target, userName: UserName })
  if (!run) {
    cli.show({ address, directory: target, command }, () => command.map(shellQuote).join(" "))
    cli.note("It asks for a password: give a token, which you create in the web UI under your name.")
    return undefined
  }
  await mkdir(target, { recursive: true })
  return runCommand(command)
}

export function mountCommand(platform: NodeJS.Platform, facts: { address: string; target: string; userName: string }): string[] {
  const { address, target, userName } = facts
  // The command has the rights of root, and both are words of the server.
  if (accountNameError(userName) !== undefined || !/^https?:\/\/[^\s,]+$/.test(address))
    throw new CliError(`The server answered no name and address to mount with: ${JSON.stringify([userName, address])}`)
  if (platform === "win32") return ["net", "use", "*", address.replace(/\/$/, ""), `/user:${userName}`, "*"]
  if (platform === "darwin") return ["mount_webdav", "-i", address, target]
  return ["sudo", "mount", "-t", "davfs", "-o", `username=${userName},uid=${process.getuid?.() ?? 0}`, address, target]
}

async function runCommand(command: readonly string[]): Promise<number> {
  const [program = "", ...args] = command
  const child = spawn(program, args, { stdio: "inherit" })
  try {
    const [code] = (await once(child, "exit")) as [number | null]
    return code ?? 1
  } catch (error) {
    throw new CliError(`${program} cannot be started: ${(error as Error).message}`, {
      hint: "On Debian, `apt install davfs2` brings what `mount` needs.",
    })
  }
}

/** A word for a POSIX shell. */
function shellQuote(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
