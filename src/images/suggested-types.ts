import { type ProjectType, projectTypes } from "#contract"
import type { ImageInfo } from "#engine"
import { projectTypeRules } from "#runs"

/** Patterns of the program's name for each type. */
const programPatterns: Readonly<Record<ProjectType, RegExp>> = {
  jupyter: /jupyter/,
  jupyterlab: /jupyter/,
  jupyternotebook: /jupyter/,
  novnc: /vnc|websockify/,
  vscode: /code-server|vscode/,
  http: /(?:)/,
}

/**
 * Suggests types for an image by its exposed ports and the names of image and program; `http` fits
 * any program. Only a start shows whether it works.
 */
export function suggestTypes(reference: string, { ports, entryPoint, command }: ImageInfo): ProjectType[] {
  const words = [reference, ...entryPoint, ...command].join(" ").toLowerCase()
  return projectTypes.filter((type) => programPatterns[type].test(words) || ports.includes(`${projectTypeRules[type].port}/tcp`))
}
