import { readFileSync } from "node:fs"
import { nearestName } from "#contract"
import { accountsSettings } from "./accounts.ts"
import { engineSettings } from "./engine.ts"
import { kubernetesSettings } from "./kubernetes.ts"
import { logsSettings } from "./logs.ts"
import { networkSettings } from "./network.ts"
import { processesSettings } from "./processes.ts"
import { runsSettings } from "./runs.ts"
import { SettingError } from "./setting.ts"
import { storageSettings } from "./storage.ts"

/**
 * All settings in one table. Environment variables, configuration file, `quayside serve --help` and
 * the reference page derive from it.
 */
export const settingsTable = {
  ...networkSettings,
  ...storageSettings,
  ...accountsSettings,
  ...engineSettings,
  ...kubernetesSettings,
  ...processesSettings,
  ...runsSettings,
  ...logsSettings,
} as const

export type SettingName = keyof typeof settingsTable
export type Settings = { -readonly [K in SettingName]: (typeof settingsTable)[K]["initial"] }

/** Lower-case, hyphenated form of a name, as command-line options are written. */
export function optionName(name: string): string {
  return name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)
}

/** Sources of values. Environment wins over file, and command line over both. */
export interface SettingSources {
  env: Readonly<Record<string, string | undefined>>
  options: Readonly<Record<string, string>>
  /** Path of a JSON file with the names of the table. */
  file: string | undefined
  /** Receives one sentence for each ignored value. */
  warn: (text: string) => void
}

/** All settings with their values. Throws `SettingError` on an unknown name or a wrong value. */
export function readSettings(sources: SettingSources): Settings {
  const given = new Map<SettingName, { text: string; from: string }>()
  if (sources.file !== undefined) readFile(sources.file, given)
  readEnvironment(sources, given)
  for (const [option, value] of Object.entries(sources.options)) {
    const name = names.find((each) => optionName(each) === option)
    if (!name)
      throw unknown(
        `--${option}`,
        names.map((each) => `--${optionName(each)}`),
      )
    given.set(name, { text: value, from: `--${option}` })
  }
  const settings: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, settingsTable[name].initial]))
  for (const [name, { text: value, from }] of given) settings[name] = readValue(name, value, from)
  return settings as unknown as Settings
}

const names = Object.keys(settingsTable) as SettingName[]
/** Read elsewhere: the configuration file's name, and the server and token of the command line. */
const otherVariables: ReadonlySet<string> = new Set(["QUAYSIDE_CONFIG", "QUAYSIDE_SERVER", "QUAYSIDE_TOKEN"])
const secretNames: readonly SettingName[] = ["adminPassword", "databaseUrl", "oidcClientSecret", "secret"]

/** A setting as it is in force, in words. */
export interface SettingInForce {
  Name: string
  Value: string
  Default: string
  IsDefault: boolean
  Description: string
}

/** All settings in force. Of secrets, it says no more than whether they are set. */
export function settingsInForce(settings: Settings): SettingInForce[] {
  return names.map((name) => {
    const { env, default: initialText, doc, initial } = settingsTable[name]
    const text = textOf(settings[name])
    return {
      Name: `QUAYSIDE_${env}`,
      Value: secretNames.includes(name) && text !== "" ? "(hidden)" : text,
      Default: initialText,
      IsDefault: text === textOf(initial),
      Description: doc,
    }
  })
}

function textOf(value: unknown): string {
  if (value === undefined) return ""
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.join(", ")
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

function readValue(name: SettingName, value: string, from: string): unknown {
  try {
    return settingsTable[name].read(value)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    const got = secretNames.includes(name) ? "" : `; got ${JSON.stringify(value.slice(0, 100))}`
    throw new SettingError(`${from} must be ${error.message}${got}`)
  }
}

/**
 * Whether Kubernetes injected the variable for a service in the namespace. A service called
 * `quayside` or `quayside-apps` sets the variable of a port setting to an address.
 */
function isInjected(variable: string, value: string, isKnown: boolean): boolean {
  if (variable.includes("_SERVICE_") || /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable)) return true
  return /^(tcp|udp|sctp):\/\//.test(value) && (!isKnown || variable.endsWith("_PORT"))
}

function readEnvironment({ env, warn }: SettingSources, given: Map<SettingName, { text: string; from: string }>): void {
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith("QUAYSIDE_") || value === undefined || value === "") continue
    const name = names.find((each) => `QUAYSIDE_${settingsTable[each].env}` === variable)
    if (isInjected(variable, value, name !== undefined)) warn(`${variable} is ignored: it looks like a variable that Kubernetes injects`)
    else if (name) given.set(name, { text: value, from: variable })
    else if (!otherVariables.has(variable))
      throw unknown(
        variable,
        names.map((each) => `QUAYSIDE_${settingsTable[each].env}`),
      )
  }
}

function readFile(file: string, given: Map<SettingName, { text: string; from: string }>): void {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    throw new SettingError(`The configuration file ${file} cannot be read as JSON: ${(error as Error).message}`)
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new SettingError(`The configuration file ${file} must contain a JSON object`)
  for (const [key, entry] of Object.entries(value)) {
    const name = names.find((each) => each === key)
    if (!name) throw unknown(`${key} in ${file}`, names)
    given.set(name, { text: Array.isArray(entry) ? entry.join(",") : String(entry), from: `${key} in ${file}` })
  }
}

function unknown(name: string, known: readonly string[]): SettingError {
  const near = nearestName(name, known)
  return new SettingError(`${name} is not a setting of Quayside${near === undefined ? "" : `; did you mean ${near}?`}`)
}

/** `quayside serve --help`. */
export function settingsHelp(): string {
  const rows = names.map((name) => {
    const { doc, default: initial } = settingsTable[name]
    return `  --${optionName(name)} VALUE\n      ${doc}\n      Environment: QUAYSIDE_${settingsTable[name].env}. Default: ${initial}.`
  })
  return `quayside serve [options]: start the server\n\n  --config FILE\n      JSON object with the settings below, named in camel case (environment: QUAYSIDE_CONFIG). Environment and options win over it.\n\n${rows.join("\n")}\n`
}
