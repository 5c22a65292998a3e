import type Dockerode from "dockerode"
import { bounds } from "#contract"
import { EngineError } from "../../engine.ts"
import { gibText } from "../../image-policy.ts"
import type { AbortOption, DockerApi } from "../client/docker-api.ts"
import { daemonJsonBytes } from "../containers/list-entry-size.ts"
import { imageConfigError, readAnswer } from "./read-answer.ts"

export type ImageInspection = Dockerode.ImageInspectInfo

const { imageConfigBytes, imagePorts, imageVolumes } = bounds.containers

/** Inspects an image by its complete reference or its ID. */
export function inspectImage(docker: DockerApi, name: string, abort: AbortOption): Promise<ImageInspection> {
  return readAnswer(docker, `/images/${name}/json`, abort)
}

/**
 * Throws if an image's configuration exceeds the limits. Each container inherits the image's
 * labels, ports and volumes, and each list of containers repeats them: one person's images could
 * prevent the observation of everybody's runs.
 */
export function checkImageConfig({ Config }: Pick<ImageInspection, "Config">): void {
  const { ExposedPorts } = (Config ?? {}) as { ExposedPorts?: object | null }
  const ports = Object.keys(ExposedPorts ?? {}).length
  const volumes = volumesOf(Config)
  const bytes = daemonJsonBytes(Config ?? {})
  if (ports > imagePorts.value) throw imageConfigError(`it exposes ${ports} ports; the limit is ${imagePorts.value}`)
  if (volumes > imageVolumes.value) throw imageConfigError(`it declares ${volumes} volumes; the limit is ${imageVolumes.value}`)
  if (bytes > imageConfigBytes.value)
    throw imageConfigError(`its configuration, labels included, has ${bytes} bytes; the limit is ${imageConfigBytes.value}`)
}

/**
 * Throws if the volumes of an image could hold more than the maximum size of an image; 0 is no
 * limit. The daemon copies into each volume what the image has there, before anybody counts it, and
 * volumes may lie in each other or lead to the same directory.
 */
export function assertVolumesFit({ Config, room }: Pick<ImageInspection, "Config"> & { room: number }, maxBytes: number): void {
  const volumes = volumesOf(Config)
  if (maxBytes === 0 || volumes * room <= maxBytes) return
  const sizes = `Each of its ${volumes} volumes may get a copy of ${gibText(room)}; the limit is ${gibText(maxBytes)} together`
  throw new EngineError("image_too_large", `The image cannot be used: ${sizes}`)
}

function volumesOf(config: ImageInspection["Config"] | undefined): number {
  return Object.keys((config as { Volumes?: object | null } | undefined)?.Volumes ?? {}).length
}
