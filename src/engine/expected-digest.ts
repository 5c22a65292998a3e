import { EngineError, type RunSpec } from "./engine.ts"

/** The parts of a spec that choose its image. */
export type ImageOfSpec = Pick<RunSpec, "image" | "imageDigest" | "registryDigest" | "imagePolicy" | "user">

/** Rejects an image whose digest is not the spec's `imageDigest`. */
export function checkExpectedDigest({ image, imageDigest }: Pick<ImageOfSpec, "image" | "imageDigest">, found: string): void {
  if (imageDigest === undefined || imageDigest === found) return
  throw changedImage(image)
}

export function changedImage(image: string, options: { detail?: string | undefined; cause?: unknown } = {}): EngineError {
  const msg = `The image ${image} has changed since the run started, and the earlier one is gone`
  return new EngineError("image_unavailable", msg, { ...options, hint: "Start the project again to use the new image" })
}
