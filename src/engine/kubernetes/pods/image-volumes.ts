import { isWithin, kernelTrees, memoryDirectories, normalizedPath, runtimeMounts } from "../../containers/run-directories.ts"
import { EngineError, type ImageInfo, type RunSpec } from "../../engine.ts"

/**
 * The directories that an image declares as volumes, without those that the run mounts. The node
 * would make the others on its disk, where the cluster neither counts nor limits their content.
 * Rejects an image with one at which no pod may mount anything.
 */
export function imageVolumes(spec: RunSpec, { volumes }: Pick<ImageInfo, "volumes">): string[] {
  const mounted = new Set([...spec.mounts.map(({ target }) => normalizedPath(target)), ...memoryDirectories(spec).keys(), ...runtimeMounts])
  const others = [...new Set(volumes.map(normalizedPath))].filter((path) => !mounted.has(path))
  const unusable = others.find((path) => path === "/" || path.includes(":") || kernelTrees.some((tree) => isWithin(path, tree)))
  if (unusable === undefined) return others
  throw new EngineError("image_unavailable", `The image cannot be used: no volume may be at ${unusable}`)
}
