import type { IncomingMessage } from "node:http"
import { bounds } from "#contract"
import { EngineError } from "../../engine.ts"
import type { AbortOption, DockerApi } from "../client/docker-api.ts"
import type { CallOptions, DockerClient } from "../client/docker-client.ts"
import { undefinedIfNotFound } from "../client/errors.ts"

const maxLookups = bounds.containers.imagePathLookups.value
const maxImages = 1_000
const maxEntriesPerImage = 2_000
/** Of all paths that are remembered; each may have 4 KiB. */
const maxBytes = 16 * 2 ** 20
const linkMode = 1 << 27
const tarBlockBytes = 512

/** Every name that the path leads through, in order; the last one is where it ends. */
export type PathTrace = readonly string[]
type Entry = { link?: string } | "missing"

interface ImagePaths {
  entries: Map<string, Entry>
  bytes: number
}

/**
 * Follows paths through the links of images. The container runtime makes missing directories as
 * root and follows these links, also into mounted directories.
 */
export class ImagePathResolver {
  readonly #client: DockerClient
  readonly #images = new Map<string, ImagePaths>()

  constructor(client: DockerClient) {
    this.#client = client
  }

  knows(imageId: string, paths: readonly string[]): boolean {
    return paths.every((path) => this.#follow(imageId, path).isComplete)
  }

  /** Only for paths that `knows`. */
  route(imageId: string, path: string): PathTrace {
    return this.#follow(imageId, path).route
  }

  /** The container `id` contains nothing but the image. */
  async learn({ imageId, id }: { imageId: string; id: string }, paths: readonly string[], options: CallOptions): Promise<void> {
    const known = this.#pathsOf(imageId)
    const { entries } = known
    let lookups = 0
    for (const path of paths) {
      for (let step = followLinks(path, entries); !step.isComplete; step = followLinks(path, entries)) {
        lookups += 1
        if (lookups > maxLookups) throw rejection("its paths have too many parts or links")
        const unknown = step.route.at(-1) as string
        const entry = await this.#lookUp(id, unknown, options)
        entries.set(unknown, entry)
        known.bytes += unknown.length + (entry === "missing" ? 0 : (entry.link?.length ?? 0))
      }
    }
    this.#forgetOldest()
  }

  #follow(imageId: string, path: string) {
    return followLinks(path, this.#images.get(imageId)?.entries ?? new Map())
  }

  /** The cache of an image, emptied when it is large, which becomes the newest one. */
  #pathsOf(imageId: string): ImagePaths {
    const known = this.#images.get(imageId)
    const paths = known && known.entries.size < maxEntriesPerImage ? known : { entries: new Map(), bytes: 0 }
    this.#images.delete(imageId)
    this.#images.set(imageId, paths)
    return paths
  }

  #forgetOldest(): void {
    let bytes = this.#images.values().reduce((sum, paths) => sum + paths.bytes, 0)
    for (const [imageId, paths] of this.#images) {
      if (this.#images.size === 1 || (this.#images.size <= maxImages && bytes <= maxBytes)) return
      this.#images.delete(imageId)
      bytes -= paths.bytes
    }
  }

  async #lookUp(container: string, path: string, options: CallOptions): Promise<Entry> {
    const work = (docker: DockerApi, abort: AbortOption) => docker.getContainer(container).infoArchive({ path, ...abort })
    const answer: IncomingMessage | undefined = await undefinedIfNotFound(this.#client.call(work, options))
    answer?.resume()
    const encoded = answer?.headers["x-docker-container-path-stat"]
    if (typeof encoded !== "string") return "missing"
    const { mode } = JSON.parse(Buffer.from(encoded, "base64").toString()) as { mode: number }
    return (mode & linkMode) === 0 ? {} : { link: await this.#readLink(container, path, options) }
  }

  /** The archive of a link is one header. The description above names only the end of all links. */
  #readLink(container: string, path: string, options: CallOptions): Promise<string> {
    const work = async (docker: DockerApi, abort: AbortOption) => {
      let header = Buffer.alloc(0)
      const archive = await docker.getContainer(container).getArchive({ path, ...abort })
      for await (const part of archive) {
        header = Buffer.concat([header, Buffer.from(part)])
        if (header.length >= tarBlockBytes) break
      }
      return linkOf(header)
    }
    return this.#client.call(work, options)
  }
}

/** The target in a tar header: 100 bytes; longer ones have a header of another type first. */
function linkOf(header: Buffer): string {
  const target = header.toString("utf8", 157, 257).replace(/\0.*$/s, "")
  if (header.toString("latin1", 156, 157) !== "2" || target === "") throw rejection("a link on its paths is too long")
  return target
}

/**
 * Not complete: the route ends at a path whose entry is unknown. Below a missing directory all is
 * missing.
 */
function followLinks(path: string, entries: ReadonlyMap<string, Entry>): { route: PathTrace; isComplete: boolean } {
  const route: string[] = []
  let here = ""
  let isMissing = false
  let links = 0
  const names = namesOf(path)
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    if (name === "..") {
      here = here.slice(0, Math.max(0, here.lastIndexOf("/")))
      isMissing = false
      continue
    }
    const next = `${here}/${name}`
    route.push(next)
    const entry: Entry | undefined = isMissing ? "missing" : entries.get(next)
    if (entry === undefined) return { route, isComplete: false }
    isMissing ||= entry === "missing"
    if (entry === "missing" || entry.link === undefined) {
      here = next
      continue
    }
    links += 1
    if (links > 40) throw rejection("its links lead in a circle")
    names.unshift(...namesOf(entry.link))
    if (entry.link.startsWith("/")) here = ""
  }
  return { route: [...route, here], isComplete: true }
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".")
}

function rejection(why: string): EngineError {
  return new EngineError("image_unavailable", `The image cannot be used: ${why}`)
}
