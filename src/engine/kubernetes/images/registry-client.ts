import { createHash } from "node:crypto"
import { bounds, defaultRegistry, formatOciReference, type OciReference } from "#contract"
import { deadline, isLoopbackAddress } from "#kit"
import { EngineError, type ImageInfo, type RegistryCredentials } from "../../engine.ts"
import { assertImageSize } from "../../image-policy.ts"
import { checkImageConfig, checkManifest, type Descriptor, type ImageConfig, type Manifest, unusableImage } from "./image-description.ts"

const { imageAnswerBytes, imageAnswerValues, imageConfigBytes, imagePorts, imageVolumes } = bounds.containers
const timeoutMs = 30_000
const maxRedirects = 3
const indexTypes = ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"]
const manifestTypes = ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"]

export interface DescribeOptions {
  credentials: RegistryCredentials | undefined
  /** Kinds of processor that the cluster has, the preferred one first. */
  architectures: readonly string[]
  /** Limit on the packed layers; 0 is none. */
  maxBytes: number
  /** Rejects if the registry may not lead its clients to this host (with its port). */
  checkRedirect?: ((host: string) => Promise<void>) | undefined
  signal?: AbortSignal | undefined
}

export interface DescribedImage {
  info: ImageInfo
  /** The kind of processor for which it was chosen from an index of several images. */
  chosenFor: string | undefined
}

/**
 * Describes an image by its manifest and configuration, without its layers. `digest` is that of the
 * manifest, `registryDigest` that of the reference, which may be an index of several images.
 * Rejects with an `EngineError`. Source: the OCI distribution specification 1.1.
 */
export async function describeImage(reference: OciReference, options: DescribeOptions): Promise<DescribedImage> {
  using late = deadline(timeoutMs, "The registry", options.signal)
  const session = new RegistrySession(reference, options, late)
  try {
    const top = await session.manifest(reference.digest || reference.tag)
    const chosen = top.value.manifests ? chooseManifest(top.value.manifests, reference, options.architectures) : undefined
    const own = chosen ? await session.manifest(chosen.digest) : top
    const { config, layers } = own.value
    if (!config) throw new EngineError("image_unavailable", `${session.name} is not an image that runs as a container`)
    const size = (layers ?? []).reduce((sum, layer) => sum + (layer.size ?? 0), 0)
    assertImageSize(size, options.maxBytes)
    const info = toImageInfo(await session.config(config), { digest: own.digest, registryDigest: top.digest, size })
    return { info, chosenFor: chosen?.architecture }
  } catch (error) {
    options.signal?.throwIfAborted()
    if (error instanceof EngineError) throw error
    const msg = `The image ${session.name} could not be fetched: the registry ${reference.host} cannot be reached`
    throw new EngineError("image_pull_failed", msg, { detail: describeCause(error), cause: error })
  }
}

function describeCause(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return [error, cause]
    .filter((each) => each instanceof Error)
    .map((each) => (each as Error).message)
    .join(": ")
}

/** Of several variants the first is for most processors: `v6` before `v7`, none before `v2`. */
function chooseManifest(
  all: readonly Descriptor[],
  reference: OciReference,
  architectures: readonly string[],
): { digest: string; architecture: string } {
  const usable = all.filter(({ platform }) => (platform?.os ?? "linux") === "linux")
  for (const architecture of architectures) {
    const variantOf = ({ platform }: Descriptor) => platform?.variant ?? ""
    const [found] = usable
      .filter(({ platform }) => platform?.architecture === architecture)
      .sort((a, b) => variantOf(a).localeCompare(variantOf(b)))
    if (found) return { digest: found.digest, architecture }
  }
  const there = [...new Set(usable.map(({ platform }) => platform?.architecture ?? "unknown"))].join(", ")
  const msg = `The registry ${reference.host} has the image ${formatOciReference(reference)} for ${there} only; the cluster has ${architectures.join(", ")}`
  throw new EngineError("wrong_architecture", msg)
}

function toImageInfo(
  { architecture, config: given }: ImageConfig,
  known: Pick<ImageInfo, "digest" | "registryDigest" | "size">,
): ImageInfo {
  const config = given ?? {}
  const ports = Object.keys(config.ExposedPorts ?? {})
  const volumes = Object.keys(config.Volumes ?? {})
  if (ports.length > imagePorts.value) throw unusableImage(`it exposes ${ports.length} ports; the limit is ${imagePorts.value}`)
  if (volumes.length > imageVolumes.value) throw unusableImage(`it declares ${volumes.length} volumes; the limit is ${imageVolumes.value}`)
  const bytes = Buffer.byteLength(JSON.stringify(config))
  if (bytes > imageConfigBytes.value)
    throw unusableImage(`its configuration, labels included, has ${bytes} bytes; the limit is ${imageConfigBytes.value}`)
  return {
    ...known,
    architecture: architecture ?? "",
    user: config.User ?? "",
    entryPoint: config.Entrypoint ?? [],
    command: config.Cmd ?? [],
    workDir: config.WorkingDir ?? "",
    ports,
    variables: (config.Env ?? []).map((entry) => entry.split("=", 1)[0] ?? ""),
    volumes,
  }
}

/** Requests about one repository, with a token once the registry wants one. */
class RegistrySession {
  readonly name: string
  readonly #reference: OciReference
  readonly #credentials: RegistryCredentials | undefined
  readonly #checkRedirect: DescribeOptions["checkRedirect"]
  readonly #signal: AbortSignal
  #authorization: string | undefined

  constructor(reference: OciReference, { credentials, checkRedirect }: DescribeOptions, signal: AbortSignal) {
    this.name = formatOciReference(reference)
    this.#reference = reference
    this.#credentials = credentials
    this.#checkRedirect = checkRedirect
    this.#signal = signal
  }

  async manifest(name: string): Promise<{ value: Manifest; digest: string }> {
    const body = await this.#get(`manifests/${name}`, [...indexTypes, ...manifestTypes].join(", "))
    const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`
    if (name.startsWith("sha256:") && digest !== name) throw this.#failed("it does not match its digest")
    const value = this.#parse(body)
    checkManifest(value, body)
    return { value, digest }
  }

  async config({ digest }: Descriptor): Promise<ImageConfig> {
    const body = await this.#get(`blobs/${digest}`, "*/*")
    if (`sha256:${createHash("sha256").update(body).digest("hex")}` !== digest)
      throw this.#failed("its configuration does not match its digest")
    const value = this.#parse(body)
    checkImageConfig(value, body)
    return value
  }

  /** A million of empty objects would take a third of a second, in which nobody else is served. */
  #parse<T extends object>(body: Buffer): T {
    if (hasMoreValues(body, imageAnswerValues.value)) throw this.#failed(`its description has more than ${imageAnswerValues.value} values`)
    try {
      const value: unknown = JSON.parse(body.toString())
      if (typeof value === "object" && value !== null) return value as T
    } catch {
      // Said below.
    }
    throw this.#failed("the registry sent something other than a description of it")
  }

  async #get(path: string, accept: string): Promise<Buffer> {
    const url = new URL(`/v2/${this.#reference.path}/${path}`, originOf(this.#reference.host))
    let response = await this.#send(url, accept)
    if (response.status === 401 && this.#authorization === undefined) {
      this.#authorization = await this.#authorize(response.headers.get("www-authenticate") ?? "")
      await response.body?.cancel()
      response = await this.#send(url, accept)
    }
    if (!response.ok) {
      await response.body?.cancel()
      throw this.#refused(response.status)
    }
    return this.#read(response)
  }

  /** Redirects lead to where the registry stores its data, and get no credentials. */
  async #send(url: URL, accept: string): Promise<Response> {
    let target = url
    for (let hops = 0; ; hops += 1) {
      const headers = {
        accept,
        ...(this.#authorization !== undefined && target.origin === url.origin && { authorization: this.#authorization }),
      }
      const response = await fetch(target, { headers, redirect: "manual", signal: this.#signal })
      const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null
      if (location === null || hops >= maxRedirects) return response
      await response.body?.cancel()
      target = new URL(location, target)
      if (target.protocol !== "https:" && target.origin !== url.origin)
        throw this.#failed("the registry redirects to an unencrypted address")
      await this.#checkRedirect?.(target.host)
    }
  }

  async #authorize(challenge: string): Promise<string> {
    const { username, password } = this.#credentials ?? {}
    const basic = username === undefined ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`
    if (/^basic\b/i.test(challenge)) {
      if (basic === undefined) throw this.#refused(401)
      return basic
    }
    const realm = /realm="([^"]+)"/i.exec(challenge)?.[1]
    if (!realm || !/^bearer\b/i.test(challenge)) throw this.#refused(401)
    const url = new URL(realm)
    if (url.protocol !== "https:" && url.origin !== originOf(this.#reference.host))
      throw this.#failed("the registry wants a token from an unencrypted address")
    await this.#checkRedirect?.(url.host)
    const service = /service="([^"]+)"/i.exec(challenge)?.[1]
    if (service) url.searchParams.set("service", service)
    url.searchParams.set("scope", `repository:${this.#reference.path}:pull`)
    const response = await fetch(url, {
      headers: basic === undefined ? {} : { authorization: basic },
      redirect: "error",
      signal: this.#signal,
    })
    if (!response.ok) throw this.#refused(response.status)
    const { token, access_token: accessToken } = this.#parse<{ token?: string; access_token?: string }>(await this.#read(response))
    return `Bearer ${token ?? accessToken ?? ""}`
  }

  async #read(response: Response): Promise<Buffer> {
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of response.body ?? []) {
      bytes += part.length
      if (bytes > imageAnswerBytes.value) throw this.#failed(`its description has more than ${imageAnswerBytes.value} bytes`)
      parts.push(part)
    }
    return Buffer.concat(parts)
  }

  #refused(status: number): EngineError {
    const { host } = this.#reference
    const detail = `HTTP status ${status}`
    if (status === 404) return new EngineError("image_not_found", `The registry ${host} has no image ${this.name}`, { detail })
    if (status === 401 || status === 403)
      return new EngineError("image_pull_denied", `The registry ${host} refused to hand out the image ${this.name}`, { detail })
    return this.#failed(
      status === 429 ? `the registry ${host} asks to wait, after too many requests` : `the registry ${host} answered ${status}`,
    )
  }

  #failed(why: string): EngineError {
    return new EngineError("image_pull_failed", `The image ${this.name} could not be fetched: ${why}`)
  }
}

const [comma, bracket, brace] = Buffer.from(",[{")

/** Each value of a JSON text but the first follows one of these bytes, or a name. */
function hasMoreValues(body: Buffer, maxValues: number): boolean {
  let count = 0
  for (let i = 0; i < body.length && count <= maxValues; i += 1) {
    const byte = body[i]
    if (byte === comma || byte === bracket || byte === brace) count += 1
  }
  return count > maxValues
}

/** As container engines do, only registries on loopback are addressed without encryption. */
function originOf(host: string): string {
  if (host === defaultRegistry) return "https://registry-1.docker.io"
  const name = new URL(`http://${host}`).hostname
  return `${name === "localhost" || isLoopbackAddress(name.replace(/^\[|\]$/g, "")) ? "http" : "https"}://${host}`
}
