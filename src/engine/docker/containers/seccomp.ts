import { readFileSync } from "node:fs"
import { EngineError } from "../../engine.ts"

const ownProfile = new URL("./seccomp.json", import.meta.url)
/** Names that other programs use for built-in profiles, or for none. */
const profileNames = /^(unconfined|default|builtin|runtime\/default|docker\/default|off|none)$/i
const actions = new Set(["KILL", "KILL_THREAD", "KILL_PROCESS", "TRAP", "ERRNO", "TRACE", "ALLOW", "LOG", "NOTIFY"])
/**
 * A profile with one of these default actions lists what is denied, and allows every newer call.
 */
const permissiveActions = new Set(["SCMP_ACT_ALLOW", "SCMP_ACT_LOG", "SCMP_ACT_TRACE", "SCMP_ACT_NOTIFY"])

/**
 * Loads the allowed system calls of runs, in the form that the daemon expects with each container.
 *
 * `file` names a profile other than Quayside's own. Throws an `EngineError` that explains an
 * invalid one.
 */
export function loadSeccompProfile(file = ""): string {
  if (profileNames.test(file)) throw profileError(file, "is not a file; omit the setting for Quayside's own profile")
  const text = textOf(file === "" ? ownProfile : file)
  let profile: unknown
  try {
    profile = JSON.parse(text)
  } catch (cause) {
    throw profileError(file, `is not JSON (${(cause as Error).message})`)
  }
  const fault = findFault(profile)
  if (fault !== undefined) throw profileError(file, fault)
  return JSON.stringify(profile)
}

function textOf(file: string | URL): string {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    throw profileError(String(file), `cannot be read (${(cause as Error).message})`)
  }
}

/** Why a value is not a valid profile; undefined if it is one. */
function findFault(profile: unknown): string | undefined {
  if (!isObject(profile)) return "must contain a JSON object"
  const { defaultAction, syscalls } = profile
  if (!isAction(defaultAction)) return 'has no `defaultAction` like "SCMP_ACT_ERRNO"'
  if (permissiveActions.has(defaultAction))
    return `allows every call that it does not name (${defaultAction}): list the allowed calls instead`
  if (!Array.isArray(syscalls) || syscalls.length === 0) return "has no list `syscalls`"
  const wrong = syscalls.findIndex((rule) => !isRule(rule))
  return wrong < 0 ? undefined : `has a rule (number ${wrong + 1}) without \`names\` and \`action\``
}

function isRule(rule: unknown): boolean {
  return isObject(rule) && isAction(rule.action) && (typeof rule.name === "string" || isNames(rule.names))
}

function isNames(names: unknown): boolean {
  return Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === "string")
}

function isAction(value: unknown): value is string {
  return typeof value === "string" && value.startsWith("SCMP_ACT_") && actions.has(value.slice("SCMP_ACT_".length))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function profileError(file: string, fault: string): EngineError {
  const requirement = "QUAYSIDE_SECCOMP must name a JSON file in the form of Docker's seccomp profiles"
  return new EngineError("engine_error", `${requirement}; ${JSON.stringify(file)} ${fault}`)
}
