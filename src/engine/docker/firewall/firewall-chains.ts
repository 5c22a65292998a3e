import { EngineError } from "../../engine.ts"
import type { Shell } from "../host/shell.ts"
import { chainPrefix, type KernelNames } from "../network/kernel-names.ts"
import { firewallError, IptablesError, type IptablesFamily, iptablesVariants, MangleTable } from "./iptables.ts"

/** The chains of one IP family, and the jumps to them. */
export class FirewallChains {
  readonly #shell: Shell
  readonly #family: IptablesFamily
  readonly #jumps: readonly (readonly [hook: string, chain: string])[]
  /** The table of the first iptables variant that could set the rules. */
  #table: MangleTable | undefined
  /** The last rules that were set, and how the tool prints them if it differs. */
  #applied: { requested: string; printed: string } | undefined

  constructor(shell: Shell, family: IptablesFamily, { chains }: KernelNames) {
    this.#shell = shell
    this.#family = family
    this.#jumps = [
      ["INPUT", chains.input],
      ["FORWARD", chains.forward],
      ["OUTPUT", chains.output],
    ]
  }

  get tool(): string | undefined {
    return this.#table?.tool
  }

  /** The actual rules if they differ from `rules`; undefined if they do not. */
  async difference(rules: readonly string[]): Promise<string | undefined> {
    const lines = this.#table ? await this.#lines(this.#table) : []
    return this.#table && this.#matches(lines, rules) ? undefined : lines.join("\n")
  }

  /**
   * Sets missing rules and resolves with whether anything changed. The first call tries each
   * iptables variant in turn.
   */
  async ensure(rules: readonly string[]): Promise<boolean> {
    const failures: IptablesError[] = []
    for (const table of this.#table
      ? [this.#table]
      : iptablesVariants.map((variant) => new MangleTable(this.#shell, this.#family, variant))) {
      try {
        const changed = await this.#ensure(table, rules)
        this.#table = table
        return changed
      } catch (error) {
        if (!(error instanceof IptablesError)) throw error
        failures.push(error)
      }
    }
    throw firewallError(this.#family, failures)
  }

  /** Another program may insert a rule first at the same moment, so this tries again. */
  async #ensure(table: MangleTable, rules: readonly string[], triesLeft = 2): Promise<boolean> {
    const lines = await table.read()
    if (this.#matches(lines, rules)) return false
    await table.apply([...this.#jumps.map(([, chain]) => `:${chain} - [0:0]`), ...rules, ...this.#unhook(lines), ...this.#hook()])
    const after = await table.read()
    this.#applied = { requested: rules.join("\n"), printed: this.#rulesIn(after).join("\n") }
    if (!this.#isHooked(after) || this.#rulesIn(after).length !== rules.length) {
      if (triesLeft > 0) return this.#ensure(table, rules, triesLeft - 1)
      throw new EngineError("engine_error", "The firewall rules that confine runs do not stay in place", {
        detail: after.join("\n"),
      })
    }
    return true
  }

  async remove(): Promise<void> {
    const table = this.#table
    if (!table) return
    const lines = await this.#lines(table)
    const chains = this.#jumps.map(([, chain]) => chain).filter((chain) => lines.some((line) => line.startsWith(`:${chain} `)))
    if (chains.length === 0) return
    await table.apply([...this.#unhook(lines), ...chains.map((chain) => `-F ${chain}`), ...chains.map((chain) => `-X ${chain}`)])
  }

  async #lines(table: MangleTable): Promise<string[]> {
    return table.read().catch((error) => {
      throw error instanceof IptablesError ? firewallError(this.#family, [error]) : error
    })
  }

  #matches(lines: readonly string[], rules: readonly string[]): boolean {
    const printed = this.#rulesIn(lines).join("\n")
    const requested = rules.join("\n")
    const same = printed === requested || (this.#applied?.requested === requested && this.#applied.printed === printed)
    return same && this.#isHooked(lines)
  }

  #rulesIn(lines: readonly string[]): string[] {
    return this.#jumps.flatMap(([, chain]) => lines.filter((line) => line.startsWith(`-A ${chain} `)))
  }

  /** Only other instances' jumps may precede ours: any other rule could accept a packet first. */
  #isHooked(lines: readonly string[]): boolean {
    return this.#jumps.every(([hook, chain]) => {
      const rules = lines.filter((line) => line.startsWith(`-A ${hook} `))
      const at = rules.indexOf(`-A ${hook} -j ${chain}`)
      return at >= 0 && rules.slice(0, at).every((rule) => rule.startsWith(`-A ${hook} -j ${chainPrefix}`))
    })
  }

  #unhook(lines: readonly string[]): string[] {
    const jumps = new Set(this.#jumps.map(([hook, chain]) => `-A ${hook} -j ${chain}`))
    return lines.filter((line) => jumps.has(line)).map((line) => line.replace("-A", "-D"))
  }

  #hook(): string[] {
    return this.#jumps.map(([hook, chain]) => `-I ${hook} 1 -j ${chain}`)
  }
}
