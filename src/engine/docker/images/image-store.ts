import { formatOciReference, normalizeOciReference, type OciReference } from "#contract"
import {
  checkExpectedDigest,
  EngineError,
  type ImageInfo,
  type ImagePolicy,
  type Progress,
  type RunSpec,
  type StartStep,
} from "../../engine.ts"
import { assertImageAllowed, assertImageReplaceable, assertImageSize, parseReference } from "../../image-policy.ts"
import type { RegistryAllowlist } from "../../registry-allowlist.ts"
import type { DockerApi, DockerClient } from "../client/docker-client.ts"
import { undefinedIfNotFound } from "../client/errors.ts"
import { checkImageConfig, type ImageInspection, inspectImage } from "./image-config.ts"
import { ImageProvenance } from "./image-provenance.ts"
import { toPullError } from "./pull-errors.ts"
import { pullImage } from "./pull-image.ts"
import { requestManifest } from "./request-manifest.ts"

export interface ImageStoreOptions {
  registries: RegistryAllowlist
  /** Bytes; 0 is no limit. */
  maxBytes: number
}

/** The daemon's images: finds, checks and pulls them. */
export class ImageStore {
  readonly #client: DockerClient
  readonly #registries: RegistryAllowlist
  readonly #maxBytes: number
  readonly #provenance: ImageProvenance

  constructor(client: DockerClient, { registries, maxBytes }: ImageStoreOptions) {
    this.#client = client
    this.#registries = registries
    this.#maxBytes = maxBytes
    this.#provenance = new ImageProvenance(client)
  }

  async find(image: string, policy: ImagePolicy, signal?: AbortSignal): Promise<ImageInfo | undefined> {
    const local = await this.#findLocal(parseReference(image), policy, signal)
    return local && toImageInfo(local)
  }

  /**
   * Like `find`, but pulls the image first if the daemon does not have it. An image with the spec's
   * digest is used even if its name now refers to another one; without it the start fails.
   */
  async ensure(
    spec: Pick<RunSpec, "image" | "imageDigest" | "imagePolicy">,
    { report, signal }: { report: (step: StartStep) => void; signal: AbortSignal },
  ): Promise<ImageInfo> {
    const reference = parseReference(spec.image)
    const local = await this.#findLocal(reference, spec.imagePolicy, signal, spec.imageDigest)
    const reportPull = (progress: Progress | null) => report({ state: "pulling", progress })
    const found = toImageInfo(local ?? (await this.#fetch(reference, spec.imagePolicy, { report: reportPull, signal })))
    checkExpectedDigest(spec, found.digest)
    return found
  }

  async pull(
    image: string,
    policy: ImagePolicy,
    options: { report: (progress: Progress | null) => void; signal: AbortSignal },
  ): Promise<ImageInfo> {
    const reference = parseReference(image)
    const before = await this.#inspect(formatOciReference(reference), options.signal)
    if (before) assertImageReplaceable({ reference, registryDigest: registryDigest(before, reference) }, policy)
    return toImageInfo(await this.#fetch(reference, policy, { ...options, before: before?.Id }))
  }

  async #findLocal(
    reference: OciReference,
    policy: ImagePolicy,
    signal: AbortSignal | undefined,
    id?: string,
  ): Promise<ImageInspection | undefined> {
    const named = await this.#inspect(formatOciReference(reference), signal)
    const local = id === undefined || named?.Id === id ? named : ((await this.#inspect(id, signal)) ?? named)
    if (!local) return undefined
    const effectivePolicy =
      policy.allowLocal || (await this.#provenance.canDetectLocalImages()) ? policy : { ...policy, verifyAccess: true }
    await assertImageAllowed({ reference, registryDigest: registryDigest(local, reference) }, effectivePolicy, {
      registries: this.#registries,
      verifyAccess: (exact) => this.#verifyAccess(exact, policy, signal),
    })
    checkImageConfig(local)
    return local
  }

  /**
   * If a pulled image is not allowed, it is removed, and its name refers to the previous image
   * again.
   */
  async #fetch(
    reference: OciReference,
    policy: ImagePolicy,
    options: { report: (progress: Progress | null) => void; signal: AbortSignal; before?: string | undefined },
  ): Promise<ImageInspection> {
    await this.#registries.check(reference)
    options.report(null)
    await pullImage(this.#client, reference, { ...options, credentials: policy.credentials, maxBytes: this.#maxBytes })
    let id = ""
    try {
      const fetched = await this.#inspect(formatOciReference(reference), options.signal)
      if (!fetched) throw toPullError(new Error("the image is missing right after its pull"), reference)
      id = fetched.Id
      assertImageSize(fetched.Size, this.#maxBytes)
      checkImageConfig(fetched)
      return fetched
    } catch (error) {
      if (isImageRejected(error)) await this.#restore(reference, id, options.before)
      throw error
    }
  }

  async #restore(reference: OciReference, id: string, before: string | undefined): Promise<void> {
    if (before === id) return
    const remove = (docker: DockerApi) => docker.getImage(formatOciReference(reference)).remove()
    await this.#client.call(remove, { timeoutMs: 60_000, kind: "remove" }).catch(() => {})
    if (before === undefined || reference.digest !== "") return
    const repo = formatOciReference({ ...reference, tag: "" })
    await this.#client.call((docker) => docker.getImage(before).tag({ repo, tag: reference.tag })).catch(() => {})
  }

  /** Through the daemon, which requests the manifest where it would fetch the image. */
  async #verifyAccess(reference: OciReference, { credentials }: ImagePolicy, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#client.call((docker, abort) => requestManifest(docker, reference, { credentials, ...abort }), {
        signal,
        timeoutMs: 30_000,
        kind: "unlimited",
      })
    } catch (error) {
      signal?.throwIfAborted()
      throw accessError(toPullError(error, reference), reference)
    }
  }

  #inspect(name: string, signal: AbortSignal | undefined): Promise<ImageInspection | undefined> {
    return undefinedIfNotFound(this.#client.call((docker, abort) => inspectImage(docker, name, abort), { signal }))
  }
}

/** Whether the image itself is rejected, rather than a call having failed. */
function isImageRejected(error: unknown): boolean {
  return error instanceof EngineError && (error.code === "image_too_large" || error.code === "image_unavailable")
}

/**
 * A registry reports to strangers that a private image does not exist; here it is known to exist.
 */
function accessError(error: EngineError, { host, path }: OciReference): EngineError {
  if (error.code !== "image_not_found" && error.code !== "image_pull_denied") return error
  const message = `The registry ${host} does not grant this person access to the image ${host}/${path}`
  return new EngineError("image_pull_denied", message, { detail: error.detail, cause: error })
}

/** The digest under which the reference's registry handed out the image; undefined if none did. */
function registryDigest({ RepoDigests }: ImageInspection, { host, path, digest }: OciReference): string | undefined {
  const own = (RepoDigests ?? []).map(normalizeOciReference).filter((each) => each?.host === host && each.path === path)
  return (own.find((each) => each?.digest === digest) ?? own[0])?.digest
}

function toImageInfo({ Id, Size, Config, Architecture }: ImageInspection): ImageInfo {
  const { User = "", Entrypoint, Cmd, WorkingDir = "", ExposedPorts, Env, Volumes } = Config ?? {}
  return {
    digest: Id,
    size: Size,
    architecture: Architecture,
    user: User,
    entryPoint: [Entrypoint ?? []].flat(),
    command: [Cmd ?? []].flat(),
    workDir: WorkingDir,
    ports: Object.keys(ExposedPorts ?? {}),
    variables: (Env ?? []).map((entry) => entry.split("=", 1)[0] ?? ""),
    volumes: Object.keys(Volumes ?? {}),
  }
}
