import type { IncomingMessage } from "node:http"
import { bounds } from "#contract"
import { EngineError } from "../../engine.ts"
import type { CallOptions, DockerClient } from "../client/docker-client.ts"
import { undefinedIfNotFound } from "../client/errors.ts"

const paths = ["/etc/passwd", "/etc/group"] as const
const maxBytes = bounds.containers.accountFileBytes.value
/** The images whose check is remembered. */
const maxImages = 1_000
/**
 * All mode bits of non-regular files, in the daemon's notation: directory, link, device, FIFO,
 * socket and others.
 */
const irregularModes = (1 << 31) | (1 << 27) | (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19)

/** The daemon's description of a path in a container. */
interface PathStat {
  size: number
  mode: number
  /** The final target of a link. */
  linkTarget: string
}

/**
 * Checks the account files of images. The daemon reads them as root, to the end, whenever it starts
 * a container. A FIFO there would block the start, and every inspection of the container, forever.
 * A line of a gigabyte would take several of the daemon's memory, and so perhaps every run.
 */
export class AccountFileCheck {
  readonly #client: DockerClient
  readonly #passed = new Set<string>()

  constructor(client: DockerClient) {
    this.#client = client
  }

  hasPassed(imageId: string): boolean {
    return this.#passed.has(imageId)
  }

  /**
   * The container `id` contains nothing but the image. Rejects with `image_unavailable` if the
   * image must not be started.
   */
  async check({ imageId, id }: { imageId: string; id: string }, options: CallOptions): Promise<void> {
    for (const path of paths) {
      const found = await this.#stat(id, path, options)
      const file = found?.linkTarget ? await this.#stat(id, found.linkTarget, options) : found
      if (file && ((file.mode & irregularModes) !== 0 || file.size > maxBytes))
        throw new EngineError(
          "image_unavailable",
          `The image's ${path} must be a file of at most 1 MiB: the container engine reads all of it`,
        )
    }
    this.#passed.add(imageId)
    for (const oldest of this.#passed) if (this.#passed.size > maxImages) this.#passed.delete(oldest)
  }

  async #stat(container: string, path: string, options: CallOptions): Promise<PathStat | undefined> {
    const answer: IncomingMessage | undefined = await undefinedIfNotFound(
      this.#client.call((docker, abort) => docker.getContainer(container).infoArchive({ path, ...abort }), options),
    )
    answer?.resume()
    const encoded = answer?.headers["x-docker-container-path-stat"]
    return typeof encoded === "string" ? JSON.parse(Buffer.from(encoded, "base64").toString()) : undefined
  }
}
