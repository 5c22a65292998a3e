import { readFileSync } from "node:fs"
import { EngineError } from "../../engine.ts"

const ownProfile = new URL("./seccomp.json", import.meta.url)
/** Names that other programs have for profiles of theirs, or for none. */
const words = /^(unconfined|default|builtin|runtime\/default|docker\/default|off|none)$/i
const actions = new Set(["KILL", "KILL_THREAD", "KILL_PROCESS", "TRAP", "ERRNO", "TRACE", "ALLOW", "LOG", "NOTIFY"])
/**
 * A profile with one of these for its default lists what is refused, and is open to every call that
 * is new.
 */
const open = new Set(["SCMP_ACT_ALLOW", "SCMP_ACT_LOG", "SCMP_ACT_TRACE", "SCMP_ACT_NOTIFY"])

/**
 * The system calls that runs may make, as the engine takes them with each container.
 *
 * `file` names another profile than Quayside's own. Throws an `EngineError` that says what is wrong
 * with it.
 */
export function loadSeccompProfile(file = ""): string {
  if (words.test(file)) throw refusal(file, "is no file; leave the setting out for Quayside's own profile")
  const text = textOf(file === "" ? ownProfile : file)
  let profile: unknown
  try {
    profile = JSON.parse(text)
  } catch (cause) {
    throw refusal(file, `is no JSON (${(cause as Error).message})`)
  }
  const fault = faultOf(profile)
  if (fault !== undefined) throw refusal(file, fault)
  return JSON.stringify(profile)
}

function textOf(file: string | URL): string {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    throw refusal(String(file), `cannot be read (${(cause as Error).message})`)
  }
}

/** What keeps a value from being a profile; undefined: nothing. */
function faultOf(profile: unknown): string | undefined {
  if (!isObject(profile)) return "must hold a JSON object"
  const { defaultAction, syscalls } = profile
  if (!isAction(defaultAction)) return 'has no `defaultAction` like "SCMP_ACT_ERRNO"'
  if (open.has(defaultAction)) return `lets every call through that it does not name (${defaultAction}): name what is allowed instead`
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

function refusal(file: string, fault: string): EngineError {
  const wanted = "QUAYSIDE_SECCOMP must name a JSON file in the form of Docker's seccomp profiles"
  return new EngineError("engine_error", `${wanted}; ${JSON.stringify(file)} ${fault}`)
}
