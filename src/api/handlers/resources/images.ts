import { authorize, authorizeWithGrants, imageResource, newResource } from "#access"
import type { Image, imageFields } from "#contract"
import {
  administratorFieldsOfReference,
  authorshipAfterChange,
  changesWhatRuns,
  checkImageReferenceChange,
  checkKeepPresentChange,
  checkTrustChange,
  checkWritablePathsChange,
  endTrustInProjectsWithImage,
  publishTrustEnd,
  renewTrustedDigest,
  resolveNewOwner,
  resolveOwner,
  trustAfterPublication,
  writerAfterTransfer,
} from "#projects"
import { changesFromBody, fieldsFromBody, type ImageRow, longTextBytes, tables } from "#store"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { toImageResponse, toSummaryResponses } from "../../responses/resources.ts"
import { fieldColumnsOf } from "./find-one.ts"
import { checkImageReference } from "./image-checks.ts"
import {
  listResources,
  type ResourceDefinition,
  readResource,
  removeResource,
  respondWithETag,
  restoreResource,
  updateResource,
} from "./owned-resource.ts"

const imageDefinition: ResourceDefinition<ImageRow, Image, typeof imageFields> = {
  type: "image",
  label: "image",
  published: "isPublished",
  name: "name",
  table: tables.images,
  columns: fieldColumnsOf(tables.images),
  reads: (reads) => reads.images,
  writes: (tx) => tx.images,
  resource: (row) => imageResource(row),
  toResponses: async (_context, rows) => rows.map(toImageResponse),
  toSummaries: async (_context, found) => toSummaryResponses(found, toImageResponse),
  stored: toImageResponse,
  async change(tx, context, { row, given }) {
    const { caller } = context
    checkTrustChange(caller, given.IsTrusted, row.isTrusted)
    checkWritablePathsChange(caller, given.WritablePaths, row.writablePaths)
    checkKeepPresentChange(caller, given.KeepPresent, row.keepPresent)
    const resource = imageResource(row)
    const owner = await resolveNewOwner(tx, caller, { resource, userName: row.userName, given: given.UserName })
    const publishes = given.IsPublished !== undefined && given.IsPublished !== row.isPublished
    if (publishes) await authorizeWithGrants(tx, caller, "image:publish", { resource, what: "image" })
    const fields = changesFromBody(tables.images, given)
    const reference = given.Image === row.image ? undefined : given.Image
    if (reference !== undefined) {
      checkImageReference(context, reference)
      await checkImageReferenceChange(tx, caller, row)
    }
    const userId = owner?.id ?? row.userId
    return {
      ...fields,
      ...(owner ? { userId, writtenBy: await writerAfterTransfer(tx, row, userId) } : {}),
      ...(changesWhatRuns(row, fields) ? await authorshipAfterChange(tx, caller, { ...row, userId }) : {}),
      ...(reference !== undefined ? administratorFieldsOfReference(caller) : {}),
      ...(publishes ? trustAfterPublication(caller) : {}),
    }
  },
  async changed(tx, context, { was, now }) {
    const { services } = context
    if (now.keepPresent) tx.afterCommit(() => services.images.recheckKept())
    await renewTrustedDigest(tx, { was, now })
    await publishTrustEnd(services, tx, context, { type: "image", was, now, by: "changed what it runs, or who may use it" })
    if (changesWhatRuns(was, now)) await endTrustInProjectsWithImage(services, tx, context, was.id)
  },
}

async function createImage(context: OperationContext<"createImage">): Promise<HandlerResult<"createImage">> {
  const { services, body: values } = context
  checkTrustChange(context.caller, values.IsTrusted, false)
  checkWritablePathsChange(context.caller, values.WritablePaths, [])
  checkKeepPresentChange(context.caller, values.KeepPresent, false)
  checkImageReference(context, values.Image)
  const row = await services.store.change(async (tx) => {
    const owner = await resolveOwner(tx, context.caller, values.UserName)
    authorize(context.caller, "image:create", { resource: newResource("image", owner.id), what: "image" })
    const fields = { ...fieldsFromBody(tables.images, values), userId: owner.id, writtenBy: context.caller.userId }
    await context.server.objectLimits.checkRoom(tx, context.caller, owner.id, { textBytes: longTextBytes(tables.images, fields) })
    const made = await tx.images.insert(fields)
    if (made.keepPresent) tx.afterCommit(() => services.images.recheckKept())
    await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "image", id: made.id } })
    return made
  })
  return respondWithETag(imageDefinition, context, row)
}

export const imageHandlers = {
  createImage,
  updateImage: (context) => updateResource(imageDefinition, context),
  deleteImage: (context) => removeResource(imageDefinition, context),
  restoreImage: (context) => restoreResource(imageDefinition, context),
  readImage: (context) => readResource(imageDefinition, context),
  listImages: (context) => listResources(imageDefinition, context),
} satisfies Partial<Handlers>
