import { substitutePlaceholders } from "#contract"
import type { ImageInfo } from "#engine"
import type { RunRow } from "#store"
import type { ProjectTypeRule } from "../project-types.ts"

/** Facts of the installation that programs learn from their environment. */
export interface InstallationFacts {
  /** Absent: programs get no such variable. */
  baseUrl?: string | undefined
  filesUrl?: string | undefined
  /** A name of the IANA time zone database. Default `UTC`. */
  timeZone?: string | undefined
}

export interface EnvironmentOptions {
  rule: ProjectTypeRule
  placeholders: { port: string; baseUrl: string }
  /** The image's own variables replace defaults. */
  image: ImageInfo | undefined
  installation: InstallationFacts
}

/** Libraries that would otherwise start a thread for each CPU of the machine. */
const threadVariables = [
  "OMP_NUM_THREADS",
  "OPENBLAS_NUM_THREADS",
  "MKL_NUM_THREADS",
  "BLIS_NUM_THREADS",
  "NUMEXPR_NUM_THREADS",
  "NUMEXPR_MAX_THREADS",
  "NUMBA_NUM_THREADS",
  "JULIA_NUM_THREADS",
  "RAYON_NUM_THREADS",
  "GOMAXPROCS",
]

/**
 * The program's environment: defaults, then HOME and the type's settings, then those of the image's
 * `Env`. Nothing overrides the token, since the gateway sends it.
 */
export function environmentOf(run: RunRow, { rule, placeholders, image, installation }: EnvironmentOptions): Record<string, string> {
  const { home, env, secret } = run.spec
  const defaults = Object.entries({ ...conventionalVariables(run, installation), ...quaysideVariables(run, installation, placeholders) })
  const fromType = Object.entries(rule.env).map(([name, value]) => [name, substitutePlaceholders([value], placeholders)[0] ?? value])
  const token = rule.tokenVariable === null ? {} : { [rule.tokenVariable]: secret }
  return {
    ...Object.fromEntries(defaults.filter(([name]) => !image?.variables.includes(name))),
    HOME: home,
    ...Object.fromEntries(fromType),
    ...env,
    ...token,
  }
}

/** Linux starts no program with a longer variable: 128 KiB, and a character has up to 3 bytes. */
const maxMountsCharacters = 40_000

/** Variables that many programs read. Jupyter's resource display reads the limits, in bytes. */
function conventionalVariables(run: RunRow, { timeZone = "UTC" }: InstallationFacts): Record<string, string> {
  const memory = String(run.memoryMiB * 2 ** 20)
  const cpus = String(run.cpus)
  return {
    CPU_LIMIT: cpus,
    CPU_GUARANTEE: cpus,
    MEM_LIMIT: memory,
    MEM_GUARANTEE: memory,
    ...Object.fromEntries(threadVariables.map((name) => [name, cpus])),
    TZ: timeZone,
    LANG: "C.UTF-8",
  }
}

function quaysideVariables(
  { id, projectId, userName, spec }: RunRow,
  { baseUrl, filesUrl }: InstallationFacts,
  placeholders: { baseUrl: string },
): Record<string, string> {
  const mounts = JSON.stringify(spec.mounts.map(({ target, readOnly }) => ({ path: target, readOnly })))
  return {
    QUAYSIDE_RUN_ID: String(id),
    QUAYSIDE_PROJECT_ID: String(projectId),
    QUAYSIDE_USER: userName,
    QUAYSIDE_BASE_PATH: placeholders.baseUrl,
    ...(baseUrl !== undefined && { QUAYSIDE_BASE_URL: baseUrl }),
    ...(filesUrl !== undefined && { QUAYSIDE_FILES_URL: filesUrl }),
    ...(mounts.length <= maxMountsCharacters && { QUAYSIDE_MOUNTS: mounts }),
  }
}
