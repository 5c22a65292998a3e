import { formatOciReference, normalizeOciReference, type OciReference } from "#contract"
import { chooseArchitecture } from "../../architecture.ts"
import {
  EngineError,
  type ImageInfo,
  type ImagePolicy,
  type ImageRemoval,
  type Progress,
  type RemovableImage,
  type StartStep,
  type StoredImage,
} from "../../engine.ts"
import { changedImage, checkExpectedDigest, type ImageOfSpec } from "../../expected-digest.ts"
import { ImageHolds } from "../../image-holds.ts"
import { assertImageAllowed, assertImageReplaceable, assertImageSize, gibText, parseReference } from "../../image-policy.ts"
import type { RegistryAllowlist } from "../../registry-allowlist.ts"
import type { MakeRoom, OnPull, RoomRequest } from "../../stored-images.ts"
import type { AbortOption, DockerApi } from "../client/docker-api.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { httpStatusOf, undefinedIfNotFound } from "../client/errors.ts"
import type { DiskGuard } from "./disk-guard.ts"
import { assertVolumesFit, checkImageConfig, type ImageInspection, inspectImage } from "./image-config.ts"
import { ImageProvenance } from "./image-provenance.ts"
import type { ImageRooms } from "./image-room.ts"
import { toPullError } from "./pull-errors.ts"
import { pullImage } from "./pull-image.ts"
import { type ManifestDescription, requestManifest } from "./request-manifest.ts"

export interface ImageStoreOptions {
  registries: RegistryAllowlist
  /** Bytes; 0 is no limit. */
  maxBytes: number
  diskGuard: DiskGuard
  rooms: ImageRooms
  onPull?: OnPull | undefined
  makeRoom?: MakeRoom | undefined
}

/** The daemon's images: finds, checks and pulls them. */
export class ImageStore {
  readonly #client: DockerClient
  readonly #registries: RegistryAllowlist
  readonly #maxBytes: number
  readonly #diskGuard: DiskGuard
  readonly #rooms: ImageRooms
  readonly #provenance: ImageProvenance
  readonly #onPull: OnPull | undefined
  readonly #makeRoom: MakeRoom | undefined
  readonly #holds = new ImageHolds()

  constructor(client: DockerClient, { registries, maxBytes, diskGuard, rooms, onPull, makeRoom }: ImageStoreOptions) {
    this.#client = client
    this.#registries = registries
    this.#maxBytes = maxBytes
    this.#diskGuard = diskGuard
    this.#rooms = rooms
    this.#provenance = new ImageProvenance(client)
    this.#onPull = onPull
    this.#makeRoom = makeRoom
  }

  async find(image: string, policy: ImagePolicy, signal?: AbortSignal): Promise<ImageInfo | undefined> {
    const local = await this.#findLocal(parseReference(image), policy, signal)
    return local && toImageInfo(local, parseReference(image))
  }

  /** The kind of processor of the image that a pull would fetch now; empty if unknown. */
  async registryArchitecture(image: string, policy: ImagePolicy, signal?: AbortSignal): Promise<string> {
    const reference = parseReference(image)
    await this.#registries.check(reference)
    const { Platforms } = await this.#requestManifest(reference, policy, { signal, timeoutMs: 5_000 })
    const offered = (Platforms ?? []).filter(({ os }) => os === "linux").map(({ architecture }) => architecture ?? "")
    return chooseArchitecture(offered)
  }

  /**
   * Like `find`, but pulls the image first if the daemon does not have it. An image with the spec's
   * digest is used even if its name now refers to another one, and fetched by its registry's digest
   * if it is gone. The image is held until it is disposed of.
   */
  ensure(spec: ImageOfSpec, options: EnsureOptions): Promise<{ image: ImageInfo } & Disposable> {
    return this.#holds.find(() => this.#ensure(spec, options))
  }

  async #ensure(spec: ImageOfSpec, { report, signal }: EnsureOptions): Promise<ImageInfo> {
    const { image, imagePolicy, imageDigest, user: owner } = spec
    const reference = parseReference(image)
    const local = await this.#findLocal(reference, imagePolicy, signal, imageDigest)
    const fetchOptions = { report: (progress: Progress | null) => report({ state: "pulling", progress }), signal, owner }
    if (local && (imageDigest === undefined || local.Id === imageDigest)) return toImageInfo(local, reference)
    if (imageDigest !== undefined && spec.registryDigest) return this.#fetchExact(spec, fetchOptions)
    const found = toImageInfo(local ?? (await this.#fetch(reference, imagePolicy, fetchOptions)), reference)
    checkExpectedDigest(spec, found.digest)
    return found
  }

  /** Fetches the image that an earlier run had, whatever its name refers to now. */
  async #fetchExact(spec: ImageOfSpec, options: FetchOptions): Promise<ImageInfo> {
    const exact = { ...parseReference(spec.image), tag: "", digest: spec.registryDigest ?? "" }
    const fetched = await this.#fetch(exact, spec.imagePolicy, options).catch((error: unknown) => {
      const isGone = error instanceof EngineError && error.code === "image_not_found"
      throw isGone ? changedImage(spec.image, { detail: error.detail, cause: error }) : error
    })
    checkExpectedDigest(spec, fetched.Id)
    return toImageInfo(fetched, exact)
  }

  async list(signal?: AbortSignal): Promise<StoredImage[]> {
    const all = await this.#client.call((docker, abort) => docker.listImages({ ...abort }), { signal, kind: "unlimited" })
    return all.map(({ Id, RepoTags, Size }) => {
      const room = this.#rooms.known(Id)
      return { digest: Id, references: completeReferences(RepoTags), size: Size, ...(room === undefined ? {} : { room }) }
    })
  }

  async remove(image: RemovableImage, signal?: AbortSignal): Promise<ImageRemoval> {
    return (await this.#holds.remove(image.digest, () => this.#remove(image, signal))) ?? "in_use"
  }

  /** The daemon removes an image with its last name, and refuses if a container uses it. */
  async #remove({ digest, references }: RemovableImage, signal?: AbortSignal): Promise<ImageRemoval> {
    const found = await this.#inspect(digest, signal)
    if (!found) return "missing"
    if (hasForeignName(found, references)) return "foreign"
    if (await this.#hasContainer(digest, signal)) return "in_use"
    const names = [...(found.RepoTags ?? []), ...(found.RepoDigests ?? []), digest]
    for (const name of names) if (!(await this.#removeName(name))) return "in_use"
    return "removed"
  }

  async #hasContainer(digest: string, signal: AbortSignal | undefined): Promise<boolean> {
    const options = { all: true, limit: 1, filters: { ancestor: [digest] } }
    return (await this.#client.call((docker, abort) => docker.listContainers({ ...options, ...abort }), { signal })).length > 0
  }

  /** Never forced: false if a container or another image uses it. */
  async #removeName(name: string): Promise<boolean> {
    const remove = (docker: DockerApi) => docker.getImage(name).remove()
    try {
      await undefinedIfNotFound(this.#client.call(remove, { timeoutMs: 60_000, kind: "remove" }))
      return true
    } catch (error) {
      if (httpStatusOf(error) === 409) return false
      throw error
    }
  }

  async pull(image: string, policy: ImagePolicy, options: Omit<FetchOptions, "before">): Promise<ImageInfo> {
    const reference = parseReference(image)
    const before = await this.#inspect(formatOciReference(reference), options.signal)
    if (before) assertImageReplaceable({ reference, registryDigest: registryDigest(before, reference) }, policy)
    return toImageInfo(await this.#fetch(reference, policy, { ...options, before: before?.Id }), reference)
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
    if (!policy.allowLocal) await this.#assertVolumesFit(local)
    return local
  }

  /**
   * If a pulled image is not allowed, it is removed, and its name refers to the previous image
   * again.
   */
  async #fetch(reference: OciReference, policy: ImagePolicy, options: FetchOptions): Promise<ImageInspection> {
    await this.#registries.check(reference)
    options.report(null)
    await this.#makeRoom?.(this.#roomFor(reference, policy, options))
    const known = new Set((await this.list(options.signal)).map(({ digest }) => digest))
    const { credentials } = policy
    const maxBytes = this.#maxBytes
    await this.#diskGuard.watch(options.signal, (signal) =>
      pullImage(this.#client, reference, { ...options, signal, credentials, maxBytes }),
    )
    let id = ""
    try {
      const fetched = await this.#inspect(formatOciReference(reference), options.signal)
      if (!fetched) throw toPullError(new Error("the image is missing right after its pull"), reference)
      id = fetched.Id
      assertImageSize(fetched.Size, maxBytes)
      const room = await this.#rooms.measure(fetched)
      assertImageSize(room, maxBytes, `its files and directories take as much of the disk as ${gibText(room)}`)
      if (!policy.allowLocal) await this.#assertVolumesFit(fetched)
      checkImageConfig(fetched)
      await this.#onPull?.({ reference: formatOciReference(reference), digest: id, isNew: !known.has(id), owner: options.owner })
      return fetched
    } catch (error) {
      if (isImageRejected(error)) await this.#restore(reference, id, options.before)
      throw error
    }
  }

  async #assertVolumesFit(image: ImageInspection): Promise<void> {
    if (Object.keys(image.Config?.Volumes ?? {}).length > 0)
      assertVolumesFit({ ...image, room: await this.#rooms.measure(image) }, this.#maxBytes)
  }

  /** For the choice of images to remove. */
  async #measureAll(signal: AbortSignal): Promise<void> {
    for (const { digest, room } of await this.list(signal)) {
      const found = room === undefined ? await this.#inspect(digest, signal) : undefined
      if (found) await this.#rooms.measure(found)
    }
  }

  #roomFor(reference: OciReference, policy: ImagePolicy, { owner, signal, report }: FetchOptions): RoomRequest {
    return {
      owner,
      measure: async () => {
        signal.throwIfAborted()
        const little = await this.#diskGuard.littleRoom()
        if (little) await this.#measureAll(signal)
        return little
      },
      assertOffered: () => this.#requestManifest(reference, policy, { signal, timeoutMs: 30_000 }),
      report: ({ lackingBytes }) => report({ step: "making room", current: 0, total: lackingBytes, unit: "bytes" }),
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

  async #verifyAccess(reference: OciReference, policy: ImagePolicy, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#requestManifest(reference, policy, { signal, timeoutMs: 30_000 })
    } catch (error) {
      throw error instanceof EngineError ? accessError(error, reference) : error
    }
  }

  /** Through the daemon, which requests the manifest where it would fetch the image. */
  async #requestManifest(
    reference: OciReference,
    { credentials }: ImagePolicy,
    options: { signal: AbortSignal | undefined; timeoutMs: number },
  ): Promise<ManifestDescription> {
    try {
      const request = (docker: DockerApi, abort: AbortOption) => requestManifest(docker, reference, { credentials, ...abort })
      return await this.#client.call(request, { ...options, kind: "unlimited" })
    } catch (error) {
      options.signal?.throwIfAborted()
      throw toPullError(error, reference)
    }
  }

  #inspect(name: string, signal: AbortSignal | undefined): Promise<ImageInspection | undefined> {
    return undefinedIfNotFound(this.#client.call((docker, abort) => inspectImage(docker, name, abort), { signal }))
  }
}

interface EnsureOptions {
  report: (step: StartStep) => void
  signal: AbortSignal
}
interface FetchOptions {
  report: (progress: Progress | null) => void
  signal: AbortSignal
  /** As in `PulledImage`. */
  owner: string
  /** The image to which the name referred before. */
  before?: string | undefined
}

function completeReferences(tags: readonly string[] | null | undefined): string[] {
  return (tags ?? []).flatMap((tag) => {
    const reference = normalizeOciReference(tag)
    return reference && tag !== "<none>:<none>" ? formatOciReference(reference) : []
  })
}

/** Digests name the repository only: a tag that moved away leaves one behind. */
function hasForeignName({ RepoTags, RepoDigests }: ImageInspection, references: readonly string[]): boolean {
  const repositoryOf = (name: string) => {
    const reference = normalizeOciReference(name)
    return reference && formatOciReference({ ...reference, tag: "", digest: "" })
  }
  const repositories = new Set(references.map(repositoryOf))
  return (
    completeReferences(RepoTags).some((name) => !references.includes(name)) ||
    (RepoDigests ?? []).some((name) => !repositories.has(repositoryOf(name)))
  )
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

function toImageInfo(found: ImageInspection, reference: OciReference): ImageInfo {
  const { Id, Size, Config, Architecture } = found
  const { User = "", Entrypoint, Cmd, WorkingDir = "", ExposedPorts, Env, Volumes } = Config ?? {}
  return {
    digest: Id,
    registryDigest: registryDigest(found, reference) ?? "",
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
