import { type ProjectType, projectTypes } from "#contract"
import type { ImageInfo } from "#engine"
import { projectTypeRules } from "#runs"

/** What programs of a type are called where an image names them. */
const programPatterns: Readonly<Record<ProjectType, RegExp>> = {
  jupyter: /jupyter/,
  jupyterlab: /jupyter/,
  jupyternotebook: /jupyter/,
  novnc: /vnc|websockify/,
  vscode: /code-server|vscode/,
  http: /(?:)/,
}

/**
 * The types for which an image looks made, by the ports that it exposes and what it and its program
 * are called; `http` is any program. Whether it works only a start shows.
 */
export function suggestTypes(reference: string, { ports, entryPoint, command }: ImageInfo): ProjectType[] {
  const words = [reference, ...entryPoint, ...command].join(" ").toLowerCase()
  return projectTypes.filter((type) => programPatterns[type].test(words) || ports.includes(`${projectTypeRules[type].port}/tcp`))
}
