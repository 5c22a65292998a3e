import type { V1Node } from "@kubernetes/client-node"
import { formatOciReference, normalizeOciReference, type OciReference } from "#contract"
import { emptyImageInfo } from "../../empty-image-info.ts"
import { EngineError, type ImageInfo, type ImagePolicy } from "../../engine.ts"
import type { ImageOfSpec } from "../../expected-digest.ts"
import { changedImage, checkExpectedDigest } from "../../expected-digest.ts"
import { parseReference } from "../../image-policy.ts"
import { RegistryAllowlist } from "../../registry-allowlist.ts"
import { describeImage } from "./registry-client.ts"

export interface FoundImage {
  info: ImageInfo
  /** For the pod: by digest if a registry has the image. */
  reference: string
  /** The registry that the node asks; undefined for an image that only nodes have. */
  host: string | undefined
}

interface ClusterImagesOptions {
  nodes: (signal?: AbortSignal) => Promise<readonly V1Node[]>
  registries: RegistryAllowlist | undefined
  maxBytes: number | undefined
}

/**
 * Images as the cluster can run them. Its nodes fetch and remove them by themselves, so Quayside
 * only asks the registry what an image is, with the person's credentials each time, and names it to
 * the nodes by its digest. An image without a registry, which somebody loaded onto the nodes, is
 * accepted with `allowLocal`; of it no more is known than its name.
 */
export class ClusterImages {
  readonly #nodes: ClusterImagesOptions["nodes"]
  readonly #registries: RegistryAllowlist
  readonly #maxBytes: number

  constructor({ nodes, registries, maxBytes = 0 }: ClusterImagesOptions) {
    this.#nodes = nodes
    this.#registries = registries ?? new RegistryAllowlist()
    this.#maxBytes = maxBytes
  }

  async find(image: string, policy: ImagePolicy, signal?: AbortSignal): Promise<FoundImage> {
    const reference = parseReference(image)
    const nodes = await this.#nodes(signal)
    const loaded = findLoaded(reference, nodes)
    if (loaded) {
      const name = formatOciReference(reference)
      if (!policy.allowLocal) {
        const msg = `${name} was loaded onto the nodes: it can be used only if an administrator registered it`
        throw new EngineError("image_unavailable", msg)
      }
      return { info: loaded, reference: name, host: undefined }
    }
    await this.#registries.check(reference)
    const architectures = [...new Set(nodes.flatMap((node) => node.status?.nodeInfo?.architecture ?? []))]
    const info = await describeImage(reference, {
      credentials: policy.credentials,
      architectures: architectures.length > 0 ? architectures : ["amd64"],
      maxBytes: this.#maxBytes,
      checkRedirect: (host) => this.#registries.checkRedirect(reference, host),
      signal,
    })
    const exact = formatOciReference({ ...reference, tag: "", digest: info.digest })
    return { info, reference: exact, host: reference.host }
  }

  /** Like `find`, or the image that an earlier run had, whatever its name refers to now. */
  async findForRun(spec: ImageOfSpec, signal: AbortSignal): Promise<FoundImage> {
    const { image, imageDigest, registryDigest, imagePolicy } = spec
    if (imageDigest === undefined || !registryDigest) {
      const found = await this.find(image, imagePolicy, signal)
      if (found.info.digest !== "") checkExpectedDigest(spec, found.info.digest)
      return found
    }
    const exact = formatOciReference({ ...parseReference(image), tag: "", digest: registryDigest })
    return this.find(exact, imagePolicy, signal).catch((error: unknown) => {
      const isGone = error instanceof EngineError && error.code === "image_not_found"
      throw isGone ? changedImage(image, { detail: error.detail, cause: error }) : error
    })
  }
}

/** The images of each node that came from no registry, by their names. */
const loadedOn = new WeakMap<V1Node, ReadonlyMap<string, ImageInfo>>()

function findLoaded(reference: OciReference, nodes: readonly V1Node[]): ImageInfo | undefined {
  const wanted = formatOciReference(reference)
  for (const node of nodes) {
    const loaded = loadedOn.get(node) ?? loadedImages(node)
    // Thousands of nodes with 250 names each would cost a start more than all else.
    loadedOn.set(node, loaded)
    const found = loaded.get(wanted)
    if (found) return found
  }
  return undefined
}

/**
 * The images of a node that were not pulled: one that was also has a name with a digest. By default
 * a node lists 50 images, with five names each.
 */
function loadedImages({ status }: V1Node): Map<string, ImageInfo> {
  const architecture = status?.nodeInfo?.architecture ?? ""
  const loaded = new Map<string, ImageInfo>()
  for (const { names = [], sizeBytes = 0 } of status?.images ?? []) {
    const all = names.flatMap((name) => normalizeOciReference(name) ?? [])
    const pulled = new Set(all.flatMap(({ host, path, digest }) => (digest === "" ? [] : [`${host}/${path}`])))
    for (const name of all)
      if (!pulled.has(`${name.host}/${name.path}`))
        loaded.set(formatOciReference(name), { ...emptyImageInfo, size: sizeBytes, architecture })
  }
  return loaded
}
