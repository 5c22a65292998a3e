import type { DockerClient } from "../client/docker-client.ts"

/**
 * Whether the daemon tells images that a registry handed out from those that were built here. With
 * containerd's image store both have digests: there a registry must be asked.
 */
export class ImageProvenance {
  readonly #client: DockerClient
  #told: Promise<boolean> | undefined

  constructor(client: DockerClient) {
    this.#client = client
  }

  async canDetectLocalImages(): Promise<boolean> {
    this.#told ??= this.#client.call(async (docker, abort) => {
      const { DriverStatus } = await docker.info(abort)
      return !(DriverStatus ?? []).some(([name, value]) => name === "driver-type" && value.startsWith("io.containerd."))
    })
    try {
      return await this.#told
    } catch (error) {
      this.#told = undefined
      throw error
    }
  }
}
