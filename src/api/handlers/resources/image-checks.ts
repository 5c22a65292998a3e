import { type Action, authorizeWithGrants, imageResource } from "#access"
import { Failure, type ImageCheck, reasonStatus } from "#contract"
import { EngineError, isForeignArchitecture } from "#engine"
import type { ImageRequest, ImageState } from "#images"
import { abortable } from "#kit"
import { isAdminImage } from "#projects"
import type { ImageRow } from "#store"
import type { HandlerContext, HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { toListResponse, toPageRequest, toTimestamp } from "../../responses/lists.ts"
import { prefersAsync } from "../runs/prefer.ts"
import { requireId } from "./owned-resource.ts"

/**
 * Throws if the image of a reference may not be pulled. Administrators may also name an image that
 * they loaded into the engine themselves.
 */
export function checkImageReference({ services, caller }: Pick<HandlerContext, "services" | "caller">, reference: string): void {
  const refusal = caller.isAdmin ? undefined : services.images.refusal(reference)
  if (refusal !== undefined) throw new Failure("invalid", `Image must be one that may be fetched: ${refusal}`, { field: "Image" })
}

type ImageContext = OperationContext<"checkImage" | "pullImage">

async function toImageRequest(context: ImageContext, action: Action): Promise<ImageRequest> {
  const { services } = context
  const image = await services.store.images.part(requireId(context))
  await authorizeWithGrants(services.store, context.caller, action, { resource: image && imageResource(image), what: "image" })
  return { image: image as ImageRow, byAdmin: await isAdminImage(services.store, image as ImageRow), person: context.caller }
}

async function checkImage(context: OperationContext<"checkImage">): Promise<HandlerResult<"checkImage">> {
  const request = await toImageRequest(context, "image:check")
  return toCheckResponse(request, await imageState(context, request).catch((error: unknown) => refuse(context, error)))
}

/** Each call asks the engine, whose queue all people share. */
function imageState({ services, server, caller }: ImageContext, request: ImageRequest): Promise<ImageState> {
  return server.imageChecks.run(caller.userId, () => services.images.state(request))
}

/** The pull continues when the caller leaves; only the waiting ends. */
async function pullImage(context: OperationContext<"pullImage">): Promise<HandlerResult<"pullImage">> {
  const { services } = context
  const request = await toImageRequest(context, "image:pull")
  const pulling = services.images.pull(request, context.actor)
  try {
    if (!prefersAsync(context)) await abortable(pulling, context.signal)
    return toCheckResponse(request, await imageState(context, request))
  } catch (error) {
    return refuse(context, error)
  }
}

/** Only administrators see the engine's own message. */
function refuse({ caller }: Pick<HandlerContext, "caller">, error: unknown): never {
  if (!(error instanceof EngineError)) throw error
  const extra = caller.isAdmin && error.detail !== undefined ? { detail: error.detail } : {}
  throw new Failure(error.code, error.message, { status: reasonStatus(error.code), extra, cause: error })
}

function toCheckResponse({ image }: ImageRequest, { facts, architecture, types, isPulling }: ImageState): ImageCheck {
  return {
    ID: image.id,
    Image: image.image,
    Present: facts !== undefined,
    Pulling: isPulling,
    Digest: facts?.digest ?? "",
    RegistryDigest: facts?.registryDigest ?? "",
    Size: facts?.size ?? 0,
    Architecture: architecture,
    IsForeign: isForeignArchitecture(architecture),
    User: facts?.user ?? "",
    EntryPoint: facts?.entryPoint ?? [],
    Command: facts?.command ?? [],
    WorkDir: facts?.workDir ?? "",
    Ports: facts?.ports ?? [],
    Types: types,
  }
}

/** The images on the engine's disk, and what pruning would remove. */
async function listStoredImages(context: OperationContext<"listStoredImages">): Promise<HandlerResult<"listStoredImages">> {
  const { services, query } = context
  const { days, maxBytes } = services.images.pruneRules
  const rules = { days: query.Days ?? days, maxBytes: query.MaxSize ?? maxBytes }
  const page = toPageRequest(query)
  const found = await services.images.decidePruning(rules).catch((error: unknown) => refuse(context, error))
  const first = (page.page - 1) * page.pageSize
  const rows = found.toSorted((a, b) => b.image.size - a.image.size || (a.image.digest < b.image.digest ? -1 : 1))
  const data = rows.slice(first, first + page.pageSize).map(({ image, record, prune, why }) => ({
    Digest: image.digest,
    Images: [...image.references],
    Size: image.size,
    PulledAt: toTimestamp(record?.fetchedAt ?? null),
    UsedAt: toTimestamp(record?.usedAt ?? null),
    WouldPrune: prune,
    Why: why,
  }))
  return toListResponse({ rows: data, total: found.length }, page, data)
}

export const imageCheckHandlers = { checkImage, pullImage, listStoredImages } satisfies Partial<Handlers>
