import { IsolationError } from "../../engine.ts"
import type { Shell } from "../host/shell.ts"

export type IptablesFamily = "iptables" | "ip6tables"

/**
 * Both variants have their own rules, and all rules count, so any working variant will do. The
 * first is the host's preferred one.
 */
export const iptablesVariants = ["", "-nft", "-legacy"] as const
export type IptablesVariant = (typeof iptablesVariants)[number]

/** A shell's exit code for an unknown program. */
const notFound = 127

/** An iptables tool failed or is missing. */
export class IptablesError extends Error {
  override readonly name = "IptablesError"
  readonly isMissing: boolean

  constructor(message: string, isMissing: boolean) {
    super(message)
    this.isMissing = isMissing
  }
}

/**
 * The `mangle` table of one IP family. Neither Docker nor the usual firewalls put rules there, and
 * no rule elsewhere can accept a packet that it drops.
 */
export class MangleTable {
  /** Such as `iptables-nft`. */
  readonly tool: string
  readonly #shell: Shell

  constructor(shell: Shell, family: IptablesFamily, variant: IptablesVariant) {
    this.#shell = shell
    this.tool = `${family}${variant}`
  }

  /**
   * The table's rules, as lines that begin with `-A`, and its chains, as lines that begin with a
   * colon.
   */
  async read(): Promise<string[]> {
    return (await this.#run([`${this.tool}-save`, "-t", "mangle"])).split("\n")
  }

  /** Applies all lines or none. */
  async apply(lines: readonly string[]): Promise<void> {
    await this.#run([`${this.tool}-restore`, "--noflush", "--wait", "5"], ["*mangle", ...lines, "COMMIT", ""].join("\n"))
  }

  /** Resolves with a program's output; rejects with a `IptablesError`. */
  async #run(words: readonly string[], input?: string): Promise<string> {
    const { code, output } = await this.#shell.run(words, input)
    if (code === 0) return output
    throw new IptablesError(`${words[0]}: ${output.trim() || `ended with ${code}`}`, code === notFound)
  }
}

/** One error from the failures of all variants. */
export function firewallError(family: IptablesFamily, failures: readonly IptablesError[]): IsolationError {
  const detail = failures.map(({ message }) => message).join("\n")
  if (failures.every(({ isMissing }) => isMissing)) {
    return new IsolationError(`Isolation needs ${family}, which is not installed (the package is called iptables)`, { detail })
  }
  const isPermission = /permission denied|operation not permitted|must be root/i.test(detail)
  const sentence = isPermission
    ? "Isolation needs the right to set firewall rules (CAP_NET_ADMIN)"
    : `Isolation needs firewall rules, which ${family} cannot set on this machine`
  return new IsolationError(sentence, { detail })
}
