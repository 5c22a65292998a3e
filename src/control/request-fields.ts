import { posix } from "node:path"
import { type JsonObject, StreamError } from "#channel"
import { bounds, describeValue } from "#contract"
import type { ExecRequest, TerminalSize } from "#engine"

const { argumentBytes } = bounds.control
const maxSide = 1_000
const kernelPaths = /^\/(proc|sys|dev)(\/|$)/

/** The signals that a client may send. */
const clientSignals = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGTSTP"] as const
export type ClientSignal = (typeof clientSignals)[number]

/** The program that a client asks for. `command` undefined: the shell. */
export function parseProgram(request: JsonObject, fixed?: readonly string[]): ExecRequest {
  const command = fixed ?? parseCommand(request.command)
  const env = parseEnv(request.env)
  const size = JSON.stringify([command, env]).length
  if (size > argumentBytes.value) throw invalidRequest(`command and env must have at most ${argumentBytes.value} bytes; got ${size}`)
  return { command, env, workDir: parseWorkDir(request.workDir), terminal: parseTerminal(request.terminal) }
}

function parseCommand(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isArgument) || value[0] === "") {
    throw invalidRequest(`command must be a list of texts without NUL, the program first; got ${describeValue(value)}`)
  }
  return value as string[]
}

function parseEnv(value: unknown = {}): Record<string, string> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
  if (isObject && Object.entries(value).every(([name, text]) => /^[^=\0]+$/.test(name) && isArgument(text))) {
    return value as Record<string, string>
  }
  throw invalidRequest(`env must be an object of texts by names without "="; got ${describeValue(value)}`)
}

function parseWorkDir(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const isAbsolute = isArgument(value) && value.startsWith("/")
  // A descriptor there may lead out of the container before the runtime confines the program.
  if (isAbsolute && kernelPaths.test(posix.normalize(`/${value}`))) throw invalidRequest("workDir must not be below /proc, /sys or /dev")
  if (isAbsolute) return value
  throw invalidRequest(`workDir must be an absolute path; got ${describeValue(value)}`)
}

export function parseTerminal(value: unknown): TerminalSize | undefined {
  if (value === undefined) return undefined
  const { columns, rows } = (value ?? {}) as Partial<TerminalSize>
  if (isSide(columns) && isSide(rows)) return { columns, rows }
  throw invalidRequest(`A terminal's size must be {"columns", "rows"} from 1 to ${maxSide}; got ${JSON.stringify(value).slice(0, 100)}`)
}

export function parseSignal(value: unknown): ClientSignal {
  const signal = clientSignals.find((each) => each === value)
  if (signal) return signal
  throw invalidRequest(`signal must be one of ${clientSignals.join(", ")}; got ${describeValue(value)}`)
}

/** `first` 0: a free port may be asked for. */
export function parsePort(value: unknown, first: 0 | 1 = 1): number {
  if (Number.isInteger(value) && (value as number) >= first && (value as number) <= 65_535) return value as number
  throw invalidRequest(`port must be ${first}–65535; got ${describeValue(value)}`)
}

function isArgument(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0")
}

function isSide(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxSide
}

export function invalidRequest(msg: string): StreamError {
  return new StreamError("invalid", msg)
}
