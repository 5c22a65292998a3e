import { bounds } from "#contract"
import { readBody } from "#http"
import type { DavRequest } from "./requests/dav-request.ts"

/** Reads an XML body. A long one waits until its caller may use the processor to parse it. */
export async function readXml({ incoming, context, person }: DavRequest): Promise<Buffer> {
  const body = await readBody(incoming, { maxBytes: bounds.files.xmlBytes.value })
  if (body.length > shortXml) await context.scheduler.waitForSlot(person.userId)
  return body
}

/** Parsing it takes a fraction of a millisecond. */
const shortXml = 2_048
