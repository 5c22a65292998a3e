import type { V1Node } from "@kubernetes/client-node"
import { formatOciReference, normalizeOciReference, type OciReference } from "#contract"
import { emptyImageInfo } from "../../empty-image-info.ts"
import { EngineError, type ImageInfo, type ImagePolicy } from "../../engine.ts"
import type { ImageOfSpec } from "../../expected-digest.ts"
import { changedImage, checkExpectedDigest } from "../../expected-digest.ts"
import { parseReference } from "../../image-policy.ts"
import { RegistryAllowlist } from "../../registry-allowlist.ts"
import { architectureLabel } from "../pods/names.ts"
import { describeImage } from "./registry-client.ts"

export interface FoundImage {
  info: ImageInfo
  /** For the pod: by digest if a registry has the image. */
  reference: string
  /** The registry that the node asks; undefined for an image that only nodes have. */
  host: string | undefined
  /** The kind of processor that a node needs for it; undefined if any node may try. */
  architecture?: string | undefined
}

interface ClusterImagesOptions {
  nodes: (signal?: AbortSignal) => Promise<readonly V1Node[]>
  registries: RegistryAllowlist | undefined
  maxBytes: number | undefined
  /** Labels of the nodes that take runs. Default: all nodes do. */
  nodeSelector?: Readonly<Record<string, string>> | undefined
}

/**
 * Images as the cluster can run them. Its nodes fetch and remove them by themselves, so Quayside
 * only asks the registry what an image is, with the person's credentials each time, and names it to
 * the nodes by the digest of its manifest: of an index, they might choose another. An image without
 * a registry, which somebody loaded onto the nodes, is accepted with `allowLocal`; of it no more is
 * known than its name.
 */
export class ClusterImages {
  readonly #nodes: ClusterImagesOptions["nodes"]
  readonly #registries: RegistryAllowlist
  readonly #maxBytes: number
  readonly #nodeSelector: Readonly<Record<string, string>>

  constructor({ nodes, registries, maxBytes = 0, nodeSelector = {} }: ClusterImagesOptions) {
    this.#nodes = nodes
    this.#registries = registries ?? new RegistryAllowlist()
    this.#maxBytes = maxBytes
    this.#nodeSelector = nodeSelector
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
    const { info, chosenFor } = await describeImage(reference, {
      credentials: policy.credentials,
      architectures: architecturesOf(nodes, this.#nodeSelector),
      maxBytes: this.#maxBytes,
      checkRedirect: (host) => this.#registries.checkRedirect(reference, host),
      signal,
    })
    const exact = formatOciReference({ ...reference, tag: "", digest: info.digest })
    return { info, reference: exact, host: reference.host, architecture: chosenFor }
  }

  /** Like `find`, or the image that an earlier run had, whatever its name refers to now. */
  async findForRun(spec: ImageOfSpec, signal: AbortSignal): Promise<FoundImage> {
    const { image, imageDigest, registryDigest, imagePolicy } = spec
    if (imageDigest === undefined || !registryDigest) {
      const found = await this.find(image, imagePolicy, signal)
      const { digest, registryDigest: ofIndex } = found.info
      // Pods of earlier versions named the index.
      if (digest !== "" && imageDigest !== ofIndex) checkExpectedDigest(spec, digest)
      return found
    }
    const exact = formatOciReference({ ...parseReference(image), tag: "", digest: registryDigest })
    return this.find(exact, imagePolicy, signal).catch((error: unknown) => {
      const isGone = error instanceof EngineError && error.code === "image_not_found"
      throw isGone ? changedImage(image, { detail: error.detail, cause: error }) : error
    })
  }
}

/** The kinds of processor of the nodes that take runs, that of most nodes first. */
function architecturesOf(nodes: readonly V1Node[], selector: Readonly<Record<string, string>>): string[] {
  const isSelected = ({ metadata }: V1Node) => Object.entries(selector).every(([name, value]) => metadata?.labels?.[name] === value)
  const selected = nodes.filter((node) => isSelected(node) && !node.spec?.unschedulable)
  const named = (selected.length > 0 ? selected : nodes).flatMap((node) => node.status?.nodeInfo?.architecture ?? [])
  const byCount = [...Map.groupBy(named, (name) => name)].sort(([, a], [, b]) => b.length - a.length).map(([name]) => name)
  const required = selector[architectureLabel]
  if (required !== undefined) return [required]
  return byCount.length > 0 ? byCount : ["amd64"]
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
