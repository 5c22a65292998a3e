import type Dockerode from "dockerode"
import { bounds } from "#contract"
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
  const { ExposedPorts, Volumes } = (Config ?? {}) as { ExposedPorts?: object | null; Volumes?: object | null }
  const ports = Object.keys(ExposedPorts ?? {}).length
  const volumes = Object.keys(Volumes ?? {}).length
  const bytes = daemonJsonBytes(Config ?? {})
  if (ports > imagePorts.value) throw imageConfigError(`it exposes ${ports} ports; the limit is ${imagePorts.value}`)
  if (volumes > imageVolumes.value) throw imageConfigError(`it declares ${volumes} volumes; the limit is ${imageVolumes.value}`)
  if (bytes > imageConfigBytes.value)
    throw imageConfigError(`its configuration, labels included, has ${bytes} bytes; the limit is ${imageConfigBytes.value}`)
}
