import type { DockerClient } from "../client/docker-client.ts"

/**
 * Detects whether the daemon distinguishes images of a registry from images built here. With
 * containerd's image store both have digests, so a registry must be asked.
 */
export class ImageProvenance {
  readonly #client: DockerClient
  #canDetect: Promise<boolean> | undefined

  constructor(client: DockerClient) {
    this.#client = client
  }

  async canDetectLocalImages(): Promise<boolean> {
    this.#canDetect ??= this.#client.call(async (docker, abort) => {
      const { DriverStatus } = await docker.info(abort)
      return !(DriverStatus ?? []).some(([name, value]) => name === "driver-type" && value.startsWith("io.containerd."))
    })
    try {
      return await this.#canDetect
    } catch (error) {
      this.#canDetect = undefined
      throw error
    }
  }
}
