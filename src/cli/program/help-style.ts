import { type Command, Help, type HelpConfiguration } from "commander"
import { paint } from "../io/cli.ts"

/** Help as people know it from `gh` and `kubectl`: commands first, options of every command last. */
export const helpStyle: HelpConfiguration = {
  showGlobalOptions: true,
  styleTitle: (text) => paint("bold", text),
  subcommandTerm: (command) => command.name(),
  subcommandDescription: (command) => command.summary() || firstSentence(command.description()),
  formatHelp(command: Command, helper: Help): string {
    const blocks = Help.prototype.formatHelp.call(helper, command, helper).trimEnd().split("\n\n")
    const isGlobal = (block: string) => /^(\u001b\[1m)?Global Options:/.test(block)
    const isOwn = (block: string) => command.parent === null && /^(\u001b\[1m)?Options:/.test(block)
    const last = [...blocks.filter(isOwn), ...blocks.filter(isGlobal)]
    return `${[...blocks.filter((block) => !last.includes(block)), ...last].join("\n\n")}\n`
  },
}

function firstSentence(text: string): string {
  return (text.split(". ")[0] ?? text).replace(/\.$/, "")
}
