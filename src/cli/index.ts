export type { CliProcess, TerminalStream } from "./io/cli.ts"
export { runCommandLine } from "./run-command-line.ts"
