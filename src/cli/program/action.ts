import type { Command } from "commander"
import { Cli, type CliProcess, type GlobalOptions } from "../io/cli.ts"

/** A command's code. A number is the exit code; the default is 0. */
export type Handler<A extends unknown[]> = (cli: Cli, ...args: A) => Promise<number | undefined>

export interface ProgramState {
  readonly process: CliProcess
  exitCode: number
}

/**
 * The action of a command. Its code is loaded when it is called, so that a program start loads
 * one command and not all.
 */
export function lazyAction<A extends unknown[]>(state: ProgramState, load: () => Promise<Handler<A>>) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command
    const { json, context } = command.optsWithGlobals<GlobalOptions>()
    const options: GlobalOptions = { ...(json ? { json } : {}), ...(context === undefined ? {} : { context }) }
    const handler = await load()
    state.exitCode = (await handler(new Cli(state.process, options), ...(given.slice(0, -1) as A))) ?? 0
  }
}

/** Examples at the end of a command's help: what each does, and its arguments. */
export function examples(...pairs: readonly (readonly [text: string, args: string])[]): string {
  const lines = pairs.map(([text, args]) => `  # ${text}\n  $ quayside ${args}`)
  return `\nExamples:\n${lines.join("\n\n")}\n`
}

/** A command that only has commands below it: alone, it prints its help. */
export function addCommandGroup(program: Command, name: string, summary: string): Command {
  return program.command(name).summary(summary).description(`${summary}.`).usage("COMMAND [options]").helpCommand(false)
}

/** Collects an option that may repeat. */
export function collectOption(value: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), value]
}
