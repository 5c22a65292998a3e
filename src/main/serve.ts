import { flushCompileCache } from "node:module"
import { parseArgs } from "node:util"
import { BatchedWriter, createLogger, systemClock } from "#kit"
import { StoreError } from "#store"
import { compose, type Quayside, StartStoppedError } from "./compose/compose.ts"
import { SettingError } from "./settings/setting.ts"
import { optionName, readSettings, type Settings, settingsHelp, settingsTable } from "./settings/settings.ts"
import { setThreadPoolSize } from "./settings/thread-pool.ts"
import { version } from "./version.ts"

/**
 * `quayside serve`: starts the server, prints one line with the addresses once it accepts requests,
 * and runs until SIGINT or SIGTERM.
 */
export async function serve(words: readonly string[]): Promise<number> {
  setThreadPoolSize()
  // The server outlives the reader of its log.
  process.stderr.on("error", () => {})
  const stop = stopSignal()
  try {
    const settings = settingsFrom(words)
    if (!settings) return 0
    await using quayside = await start(settings, stop)
    if (stop.aborted) return 0
    process.stdout.write(`Quayside is ready: ${describe(quayside)}\n`)
    // Otherwise a process that is killed leaves nothing to the next one.
    flushCompileCache()
    await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }))
    return 0
  } catch (error) {
    if (error instanceof StartStoppedError) return 0
    const message = configurationErrorMessage(error)
    if (message === undefined) throw error
    process.stderr.write(`quayside: ${message}\n`)
    return 1
  }
}

/** The addresses that this process serves, or what it does. */
function describe({ roles, baseUrl, appsUrl, filesUrl }: Quayside): string {
  const parts = [
    ...(roles.has("api") ? [`API and web UI ${baseUrl}`] : []),
    ...(roles.has("gateway") ? [`apps ${appsUrl}`] : []),
    ...(roles.has("files") ? [`files ${filesUrl}`] : []),
  ]
  return parts.length > 0 ? parts.join(" ") : "it supervises the runs"
}

function settingsFrom(words: readonly string[]): Settings | undefined {
  const names = Object.keys(settingsTable).map(optionName)
  const options = Object.fromEntries([...names, "config"].map((name) => [name, { type: "string" as const }]))
  const parsed = parseArgs({ args: [...words], options: { ...options, help: { type: "boolean", short: "h" } }, strict: true })
  const { help, config, ...given } = parsed.values as Record<string, string | boolean | undefined>
  if (help === true) {
    process.stdout.write(settingsHelp())
    return undefined
  }
  const file = (config as string | undefined) ?? (process.env.QUAYSIDE_CONFIG || undefined)
  const warn = (text: string) => void process.stderr.write(`quayside: ${text}\n`)
  const settings = readSettings({ env: process.env, options: given as Record<string, string>, file, warn })
  if (settings.dockerSocket === "") settings.dockerSocket = socketOf(process.env.DOCKER_HOST ?? "", warn)
  return settings
}

/** The daemon's socket according to `DOCKER_HOST`; empty for the default one. */
function socketOf(host: string, warn: (text: string) => void): string {
  if (host.startsWith("unix://")) return host.slice("unix://".length)
  if (host !== "") warn(`DOCKER_HOST is ignored: it must be a socket of this machine, unix://…; got ${host}`)
  return ""
}

function start(settings: Settings, signal: AbortSignal): Promise<Quayside> {
  const log = new BatchedWriter((text) => void process.stderr.write(text), { clock: systemClock })
  process.on("exit", () => log.flush())
  const logger = createLogger(settings.logLevel, (line, level) => {
    log.add(line)
    if (level === "warn" || level === "error") log.flush()
  })
  const logsRequests = settings.accessLog === "on" && (settings.logLevel === "info" || settings.logLevel === "debug")
  const announcePassword = (password: string) =>
    void process.stdout.write(`The first administrator is admin, the password ${password} (it is not shown again)\n`)
  return compose({
    settings,
    version,
    logger,
    ...(logsRequests ? { accessLog: (line) => log.add(line) } : {}),
    announcePassword,
    signal,
  })
}

/** Aborts at the first SIGINT or SIGTERM. A second one ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(1)
    controller.abort()
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal)
  return controller.signal
}

type SystemError = NodeJS.ErrnoException & { address?: string; port?: number; hostname?: string }

/**
 * One sentence for an error that an administrator can mend; undefined for errors of the program.
 */
function configurationErrorMessage(error: unknown): string | undefined {
  if (error instanceof SettingError || error instanceof StoreError) return error.message
  const { code, message, syscall, address, port, path, hostname } = error as SystemError
  if (code?.startsWith("ERR_PARSE_ARGS")) return message
  if (code === "EADDRINUSE")
    return `Port ${port}${address === undefined ? "" : ` at ${address}`} is in use: stop the program that listens there, or choose another port`
  if (code === "EADDRNOTAVAIL" && syscall === "listen") return `QUAYSIDE_HOST must be an address of this machine; got ${address}`
  if (syscall === "getaddrinfo" && hostname !== undefined)
    return `QUAYSIDE_HOST must be a name or an address of this machine; ${hostname} is not known (${code})`
  if (code === "EACCES" && syscall === "listen") return `This user must not listen on port ${port}`
  if (code !== undefined && syscall !== undefined && path !== undefined) return `${path} cannot be used: ${message}`
  if (code !== undefined && syscall !== undefined) return message
  return undefined
}
