import { spawn } from "node:child_process"
import { EngineError } from "../engine.ts"
import { childEnvironment } from "./child.ts"

export type Family = "iptables" | "ip6tables"

/** Both kinds keep rules of their own, all of which count: whichever works will do. The first is what the host itself prefers. */
export const kinds = ["", "-nft", "-legacy"] as const
export type Kind = (typeof kinds)[number]

/** A tool that refused. */
export class ToolError extends Error {
  override readonly name = "ToolError"
  readonly missing: boolean

  constructor(message: string, missing: boolean) {
    super(message)
    this.missing = missing
  }
}

/** The `mangle` table of one family: neither Docker nor the usual firewalls put rules there, and no rule elsewhere can let through what is dropped in it. */
export class Table {
  /** Such as `iptables-nft`. */
  readonly tool: string

  constructor(family: Family, kind: Kind) {
    this.tool = `${family}${kind}`
  }

  /** Its rules, as lines that begin with `-A`, and its chains, as lines that begin with a colon. */
  async lines(): Promise<string[]> {
    return (await output([`${this.tool}-save`, "-t", "mangle"])).split("\n")
  }

  /** Changes all of it or nothing. */
  async change(lines: readonly string[]): Promise<void> {
    await output([`${this.tool}-restore`, "--noflush", "--wait", "5"], ["*mangle", ...lines, "COMMIT", ""].join("\n"))
  }
}

/** One sentence from what each kind of tool said. */
export function refusal(family: Family, failures: readonly ToolError[]): EngineError {
  const detail = failures.map(({ message }) => message).join("\n")
  if (failures.every(({ missing }) => missing)) {
    return new EngineError("engine_error", `Isolation needs ${family}, which is not installed (the package is called iptables)`, { detail })
  }
  const isRight = /permission denied|operation not permitted|must be root/i.test(detail)
  const sentence = isRight
    ? "Isolation needs the right to set firewall rules (CAP_NET_ADMIN)"
    : `Isolation needs firewall rules, which ${family} cannot set on this machine`
  return new EngineError("engine_error", sentence, { detail })
}

/** What a program prints. Rejects with a `ToolError`. */
function output([file = "", ...words]: string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, { stdio: "pipe", env: childEnvironment })
    const said = { stdout: "", stderr: "" }
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] += text
      })
    }
    child.on("error", (error: NodeJS.ErrnoException) => reject(new ToolError(`${file}: ${error.message}`, error.code === "ENOENT")))
    child.on("close", (code) => {
      if (code === 0) resolve(said.stdout)
      else reject(new ToolError(`${file}: ${said.stderr.trim() || `ended with ${code}`}`, false))
    })
    // A program that ended early tells why by its code.
    child.stdin.on("error", () => {})
    child.stdin.end(input)
  })
}
