import { spawn } from "node:child_process"
import type { Cli } from "./cli.ts"

/** The program of each system that opens an address. */
const openers: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
}

/** Opens an address in the person's browser. The address is printed too: it may have no browser. */
export async function openBrowser(cli: Cli, address: string): Promise<void> {
  cli.note(`Opening ${address}`)
  const { env } = cli.process
  const [program = "xdg-open", ...args] = env.BROWSER ? [env.BROWSER] : (openers[cli.process.platform] ?? ["xdg-open"])
  const isStarted = await new Promise<boolean>((resolve) => {
    const child = spawn(program, [...args, address], { stdio: "ignore", detached: true })
    child.once("error", () => resolve(false))
    child.once("spawn", () => {
      child.unref()
      resolve(true)
    })
  })
  if (!isStarted) cli.note("No browser could be started; open the address yourself.")
}
