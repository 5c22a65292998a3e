import { EngineError } from "../../engine.ts"
import type { Shell } from "../host/shell.ts"

export type Family = "iptables" | "ip6tables"

/**
 * Both kinds keep rules of their own, all of which count: whichever works will do. The first is
 * what the host itself prefers.
 */
export const kinds = ["", "-nft", "-legacy"] as const
export type Kind = (typeof kinds)[number]

/** What a shell answers for a program that there is not. */
const notFound = 127

/** A tool that refused. */
export class ToolError extends Error {
  override readonly name = "ToolError"
  readonly missing: boolean

  constructor(message: string, missing: boolean) {
    super(message)
    this.missing = missing
  }
}

/**
 * The `mangle` table of one family: neither Docker nor the usual firewalls put rules there, and no
 * rule elsewhere can let through what is dropped in it.
 */
export class Table {
  /** Such as `iptables-nft`. */
  readonly tool: string
  readonly #shell: Shell

  constructor(shell: Shell, family: Family, kind: Kind) {
    this.#shell = shell
    this.tool = `${family}${kind}`
  }

  /** Its rules, as lines that begin with `-A`, and its chains, as lines that begin with a colon. */
  async lines(): Promise<string[]> {
    return (await this.#output([`${this.tool}-save`, "-t", "mangle"])).split("\n")
  }

  /** Changes all of it or nothing. */
  async change(lines: readonly string[]): Promise<void> {
    await this.#output([`${this.tool}-restore`, "--noflush", "--wait", "5"], ["*mangle", ...lines, "COMMIT", ""].join("\n"))
  }

  /** What a program prints. Rejects with a `ToolError`. */
  async #output(words: readonly string[], input?: string): Promise<string> {
    const { code, said } = await this.#shell.run(words, input)
    if (code === 0) return said
    throw new ToolError(`${words[0]}: ${said.trim() || `ended with ${code}`}`, code === notFound)
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
