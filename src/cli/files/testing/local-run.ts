import { spawn } from "node:child_process"
import { PassThrough } from "node:stream"
import { archiveRoot, type ChannelStream, type JsonObject, Multiplexer, outputPart, type Transport } from "#channel"
import type { RunningProject } from "#contract"
import { Cli } from "../../io/cli.ts"
import type { ControlledRun } from "../../session/control.ts"

/** Answers a stream; false if the programs of this machine do. */
export type AnswerStream = (stream: ChannelStream, request: JsonObject) => boolean

/** A run whose programs are those of this machine, or answer what a test says. */
export function aControlledRun({
  answer = () => false,
  env = process.env,
}: {
  answer?: AnswerStream
  env?: NodeJS.ProcessEnv
} = {}): ControlledRun {
  const open = async () => {
    const transport = (to: () => Multiplexer): Transport => ({
      send: (frame) => void setImmediate(() => to().receive(frame)),
      isCongested: false,
      close: () => to().handleTransportClose(""),
    })
    const onOpen = (stream: ChannelStream, request: JsonObject) => {
      stream.done.catch(() => {})
      if (!answer(stream, request)) void runProgram(stream, commandOf(request), env)
    }
    const server: Multiplexer = new Multiplexer({ transport: transport(() => client), side: "server", onOpen })
    const client: Multiplexer = new Multiplexer({ transport: transport(() => server), side: "client" })
    return client
  }
  return { run: {} as RunningProject, open }
}

function commandOf({ kind, command, direction, path, offset }: JsonObject): string[] {
  if (kind === "exec") return command as string[]
  if (offset === undefined && direction === "in") return ["tar", "-x", "-f", "-", "-C", `${path}`]
  if (offset === undefined) return ["tar", "-c", "-f", "-", "-C", archiveRoot(`${path}`).directory, "--", archiveRoot(`${path}`).name]
  const block = 2 ** 20
  return direction === "out"
    ? ["tail", "-c", `+${Number(offset) + 1}`, `${path}`]
    : ["dd", `of=${path}`, `bs=${block}`, `seek=${Number(offset) / block}`, "conv=notrunc"]
}

async function runProgram(stream: ChannelStream, [program = "", ...args]: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(program === "sh" ? "/bin/sh" : program, args, { env })
  // `tar` ends with the archive, before its padding.
  child.stdin.on("error", () => {})
  stream.accept()
  const exitCode = new Promise<number>((resolve) => child.once("close", resolve))
  const print = async (output: AsyncIterable<Buffer>, part: number) => {
    for await (const data of output) await stream.write(data, part)
  }
  const printed = [print(child.stdout, outputPart.stdout), print(child.stderr, outputPart.stderr)]
  const read = async () => {
    for await (const { data } of stream) child.stdin.write(data)
    child.stdin.end()
  }
  read().catch(() => child.kill())
  await Promise.all(printed)
  stream.finish({ exitCode: await exitCode })
}

export function aCommandLine(): Cli {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const { signal } = new AbortController()
  return new Cli({ ...streams, env: { PATH: process.env.PATH }, platform: "linux", version: "0", program: [], signal }, { json: true })
}
