import { relative } from "node:path"
import { parsePort, substitutePlaceholders } from "#contract"
import type { ImageInfo, Mount, RunSpec } from "#engine"
import type { RunPlan, RunRow } from "#store"
import { imageStartOf, type ProgramStart, startBySearch } from "../programs/program-search.ts"
import { type ProjectTypeRule, ruleOfType } from "../project-types.ts"
import { environmentOf, type InstallationFacts } from "./environment.ts"

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
function engineMountsOf({ mounts }: RunPlan): Mount[] {
  return mounts.map(({ source, target, readOnly }) => ({ source, target, readOnly }))
}

/** The plan with the port that the image exposes, if the type leaves it to the image. */
export function withImagePort(plan: RunPlan, { ports }: ImageInfo): RunPlan {
  const [port, ...others] = ports.flatMap((each) => parsePort(each) ?? [])
  const isFromImage = plan.port === null && ruleOfType(plan.type).portFromImage && port !== undefined && others.length === 0
  return isFromImage ? { ...plan, port } : plan
}

/**
 * The request to the engine, with all defaults of the project type. Image policy and disk limit are
 * those at the time of the request. The working directory of an image wins over the run's.
 */
export function engineSpecOf(
  run: RunRow,
  { image, installation = {} }: { image?: ImageInfo; installation?: InstallationFacts } = {},
): Omit<RunSpec, "imagePolicy" | "diskMiB"> {
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
    registryDigest: plan.registryDigest,
    ...programStart(rule, { plan, placeholders, image }),
    env: environmentOf(run, { rule, placeholders, image, installation }),
    port: portOf(run),
    cpus: run.cpus,
    memoryMiB: run.memoryMiB,
    gpus: run.gpuDevices,
    gpuRequest: run.gpus === 0 ? undefined : { count: run.gpus, memoryMiB: run.gpuMemoryMiB },
    nodes: run.nodes,
    mounts: engineMountsOf(plan),
    workDir: image !== undefined && image.workDir !== "" && image.workDir !== "/" ? undefined : plan.workDir,
    internetOf: plan.internetOf,
    writableRoot: rule.writableRoot || plan.writablePaths?.includes("/") === true,
    writablePaths: plan.writablePaths?.filter((path) => path !== "/"),
  }
}

/** The project's own command is passed to the image's entry point, as in `docker run IMAGE …`. */
function programStart(
  rule: ProjectTypeRule,
  options: { plan: RunPlan; placeholders: { port: string; baseUrl: string }; image: ImageInfo | undefined },
): ProgramStart {
  const { plan, placeholders, image } = options
  if (plan.command !== null) return { entryPoint: undefined, command: substitutePlaceholders(plan.command, placeholders) }
  if (rule.program === null) return { entryPoint: undefined, command: [] }
  const words = substitutePlaceholders(typeArguments(rule, plan), placeholders)
  return startBySearch(rule.program, words, imageStartOf(image, rule))
}

/** They open the code directory and show the other mounts. */
function typeArguments(rule: ProjectTypeRule, plan: RunPlan): string[] {
  const paths = { "{codePath}": plan.workDir, "{workspace}": workspaceOf(plan) }
  return rule.arguments.map((word) => word.replace(/\{(codePath|workspace)\}/, (name) => paths[name as keyof typeof paths]))
}

/**
 * The first page for a browser. Notebook 6 has no option to begin below its root, which is
 * read-only. A program that the project's own command starts may have another root.
 */
export function landingOf(plan: RunPlan): string {
  const codePath = plan.command === null ? relative(workspaceOf(plan), plan.workDir) : ""
  return ruleOfType(plan.type).landing.replace("{codePath}", () => encodeURI(codePath))
}

/** The directory that contains all mounts; the code directory if that is `/`. */
function workspaceOf({ workDir, mounts }: RunPlan): string {
  const common = mounts.reduce(
    (shared, { target }) => {
      const names = target.split("/")
      const differs = shared.findIndex((name, i) => name !== names[i])
      return differs < 0 ? shared : shared.slice(0, differs)
    },
    workDir.split("/").slice(0, -1),
  )
  return common.length > 1 ? common.join("/") : workDir
}
