import { describeValue, Failure, nearestName, normalizeOciReference, type OciReference } from "#contract"
import type { RegistryCredentials } from "#engine"

/** The person for whom an image is requested. */
export interface ImageUser {
  readonly userName: string
  readonly groupNames: readonly string[]
}

/** The credentials for one registry, or a part of it, on behalf of some people. */
export interface CredentialEntry extends RegistryCredentials {
  /** As a reference names it, in lower case: `ghcr.io`, `registry.lan:5000`. */
  registry: string
  /** Repositories with this path or below it; empty: all. */
  path: string
  /**
   * `everyone`, `user:<name>`, `group:<name>`; nobody: the registry's images are then only for who
   * needs no credentials.
   */
  for: readonly string[]
}

const members = ["registry", "path", "username", "password", "for"] as const

/**
 * Reads the entries of a credentials file: a JSON list. Throws a `Failure` whose message tells
 * which entry is wrong, and shows no value of it.
 */
export function parseCredentials(text: string): CredentialEntry[] {
  const list = parseJson(text)
  if (!Array.isArray(list)) throw invalid(`a list of entries is wanted; got ${describeValue(typeof list === "string" ? "a text" : list)}`)
  return list.map((entry, index) => parseEntry(entry, `entry ${index + 1}`))
}

/** The parser's own message would show a piece of the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid("it is not JSON")
  }
}

function parseEntry(value: unknown, where: string): CredentialEntry {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`${where} must be a JSON object`)
  const entry = value as Readonly<Record<string, unknown>>
  for (const name of Object.keys(entry)) {
    if ((members as readonly string[]).includes(name)) continue
    const near = nearestName(name, members)
    throw invalid(`${where} has an unknown member${near === undefined ? `; known: ${members.join(", ")}` : `; did you mean ${near}?`}`)
  }
  const text = (name: "registry" | "path" | "username" | "password", fallback?: string): string => {
    const given = entry[name] ?? fallback
    if (typeof given !== "string" || (given === "" && fallback === undefined)) throw invalid(`${where} needs a text as its ${name}`)
    return given
  }
  const registry = text("registry")
  const path = text("path", "")
  const reference = normalizeOciReference(`${registry}/${path || "x/x"}`)
  if (!registryPattern.test(registry) || reference?.host !== registryOf(registry) || reference.digest !== "")
    throw invalid(`${where} needs a registry such as ghcr.io or registry.lan:5000, and a path such as team/project or none`)
  return { registry: reference.host, path, username: text("username"), password: text("password"), for: parseFor(entry.for, where) }
}

const registryPattern = /^[^/@]+$/
const registryOf = (name: string) => (name.toLowerCase() === "index.docker.io" ? "docker.io" : name.toLowerCase())

function parseFor(value: unknown, where: string): string[] {
  const isOne = (each: unknown) => typeof each === "string" && /^(everyone|(user|group):[a-z0-9][a-z0-9._-]{0,63})$/.test(each)
  if (Array.isArray(value) && value.every(isOne)) return value
  throw invalid(`${where} needs a list "for" of everyone, user:<name> and group:<name>`)
}

function invalid(what: string): Failure {
  return new Failure("invalid", what)
}

/** Decides which credentials apply to a person and an image. */
export class CredentialRules {
  readonly #entries: readonly CredentialEntry[]

  constructor(entries: readonly CredentialEntry[] = []) {
    this.#entries = entries
  }

  /**
   * Whether any entry covers the image: it may be present because somebody pulled it with
   * credentials.
   */
  hasRuleFor(reference: OciReference): boolean {
    return this.#of(reference).length > 0
  }

  /** The entry with the longest path wins, then the first. */
  credentialsFor(person: ImageUser, reference: OciReference): RegistryCredentials | undefined {
    const own = this.#of(reference).filter((entry) => entry.for.some((each) => appliesTo(each, person)))
    const [best] = own.sort((a, b) => b.path.length - a.path.length)
    return best && { username: best.username, password: best.password }
  }

  #of({ host, path }: OciReference): CredentialEntry[] {
    return this.#entries.filter(
      (entry) => entry.registry === host && (entry.path === "" || path === entry.path || path.startsWith(`${entry.path}/`)),
    )
  }
}

function appliesTo(entry: string, { userName, groupNames }: ImageUser): boolean {
  return entry === "everyone" || entry === `user:${userName}` || groupNames.some((group) => entry === `group:${group}`)
}
