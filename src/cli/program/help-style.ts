import { type Command, Help, type HelpConfiguration } from "commander"
import { paint } from "../io/cli.ts"

/** Help as in `gh` and `kubectl`: commands first, options of every command last. */
export const helpStyle: HelpConfiguration = {
  showGlobalOptions: true,
  styleTitle: (text) => paint("bold", text),
  subcommandTerm: (command) => command.name(),
  subcommandDescription: (command) => command.summary() || firstSentence(command.description()),
  formatHelp(command: Command, helper: Help): string {
    const blocks = Help.prototype.formatHelp.call(helper, command, helper).trimEnd().split("\n\n")
    const hasTitle = (block: string, title: string) => block.startsWith(title) || block.startsWith(paint("bold", title))
    const isGlobal = (block: string) => hasTitle(block, "Global Options:")
    const isOwn = (block: string) => command.parent === null && hasTitle(block, "Options:")
    const last = [...blocks.filter(isOwn), ...blocks.filter(isGlobal)]
    return `${[...blocks.filter((block) => !last.includes(block)), ...last].join("\n\n")}\n`
  },
}

function firstSentence(text: string): string {
  return (text.split(". ")[0] ?? text).replace(/\.$/, "")
}
