import { substitutePlaceholders } from "#contract"
import type { Mount, RunSpec } from "#engine"
import type { RunPlan, RunRow } from "#store"
import { type ProjectTypeRule, ruleOfType } from "../project-types.ts"

/** The port on which the run's program listens inside its container. */
export function portOf({ spec }: RunRow): number {
  return spec.port ?? ruleOfType(spec.type).port
}

/** The program's base path, with a slash at both ends. */
export function basePath(run: RunRow): string {
  return ruleOfType(run.spec.type).prefix === "keep" ? `/run/${run.id}/` : "/"
}

/** Headers that every request to the program carries. */
export function upstreamHeaders({ spec }: RunRow): Record<string, string> {
  const headers = Object.entries(ruleOfType(spec.type).upstreamHeaders)
  return Object.fromEntries(headers.map(([name, value]) => [name, value.replace("{secret}", () => spec.secret)]))
}

/** The mounts of the container. */
export function engineMountsOf({ mounts }: RunPlan): Mount[] {
  return mounts.map(({ source, target, readOnly }) => ({ source, target, readOnly }))
}

/**
 * The request to the engine, with all defaults of the project type. Image policy and disk limit are
 * those at the time of the request.
 */
export function engineSpecOf(run: RunRow): Omit<RunSpec, "imagePolicy" | "diskMiB"> {
  const { spec: plan } = run
  const rule = ruleOfType(plan.type)
  const placeholders = { port: String(portOf(run)), baseUrl: basePath(run) }
  return {
    key: run.key,
    run: run.id,
    project: run.projectId,
    user: run.userName,
    image: plan.image,
    imageDigest: plan.imageDigest,
    command: substitutePlaceholders(plan.command ?? rule.command ?? [], placeholders),
    env: environment(run, rule, placeholders),
    port: portOf(run),
    cpus: run.cpus,
    memoryMiB: run.memoryMiB,
    gpus: run.gpuDevices,
    nodes: run.nodes,
    mounts: engineMountsOf(plan),
    workDir: plan.workDir,
    internetOf: plan.internetOf,
    writableRoot: rule.writableRoot,
  }
}

/**
 * The image's settings override the type's and HOME. Nothing overrides the token, since the gateway
 * sends it.
 */
function environment(run: RunRow, rule: ProjectTypeRule, placeholders: { port: string; baseUrl: string }): Record<string, string> {
  const { home, env, secret } = run.spec
  const fromType = Object.entries(rule.env).map(([name, value]) => [name, substitutePlaceholders([value], placeholders)[0] ?? value])
  const token = rule.tokenVariable === null ? {} : { [rule.tokenVariable]: secret }
  return { HOME: home, ...Object.fromEntries(fromType), ...env, ...token }
}
