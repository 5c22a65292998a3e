import { Command } from "commander"
import { hasColours } from "../io/cli.ts"
import { addAccountCommands, addAdministrationCommands } from "./accounts.ts"
import { examples, lazyAction, type ProgramState } from "./action.ts"
import { helpStyle } from "./help-style.ts"
import { addResourceCommands } from "./resources.ts"
import { addRunCommands } from "./runs.ts"

const description = `Run containerized projects on a Quayside server, and work with their data.`

const footer = `${examples(
  ["Sign in once", "login https://quayside.example.com"],
  ["Start a project, and open it", "start Notebook --gpus 1 --open"],
  ["Upload a folder to a dataset", "data push ./spectra spectra"],
)}
Exit codes: 0 done, 1 failed, 2 usage error, 3 not allowed, 4 not found, 5 conflict,
6 the run failed, 7 server unreachable, 130 interrupted.

\`quayside COMMAND --help\` describes a command.`

/** All commands, without the code of any. */
export function createProgram(state: ProgramState): Command {
  const { process } = state
  const program = new Command("quayside")
  program
    .description(description)
    .usage("COMMAND [options]")
    .option("--json", "print JSON, for programs")
    .option("--context <name>", "use this server instead of the current one")
    .helpOption("-h, --help", "show help")
    .version(process.version, "--version", "show the version")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void process.stdout.write(text),
      writeErr: (text) => void process.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "quayside: ")),
      getOutHasColors: () => hasColours(process, process.stdout),
      getErrHasColors: () => hasColours(process, process.stderr),
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? 80, 100),
      getErrHelpWidth: () => Math.min(process.stderr.columns ?? 80, 100),
    })
    .configureHelp(helpStyle)
    .addHelpText("after", footer)
  addAccountCommands(program, state)
  addRunCommands(program, state)
  addResourceCommands(program, state)
  addAdministrationCommands(program, state)
  program.commandsGroup("More:")
  // `main` calls the server before it loads this program.
  program.command("serve").description("Start a server; `quayside serve --help` lists its settings.")
  program
    .command("completion")
    .argument("<shell>", "bash, zsh or fish")
    .summary("Print completions for your shell")
    .description("Print a script that completes the words of quayside in your shell.")
    .addHelpText(
      "after",
      examples(["For bash, in every new shell", "completion bash > ~/.local/share/bash-completion/completions/quayside"]),
    )
    .action(lazyAction(state, async () => (await import("../commands/completion.ts")).completionHandler(program)))
  program
    .command("version")
    .description("Show the version.")
    .action(lazyAction(state, async () => showVersion))
  return program
}

async function showVersion(cli: { print(line: string): void; process: { version: string } }): Promise<undefined> {
  cli.print(cli.process.version)
}
