import { bounds } from "#contract"
import { readBody } from "#http"
import type { DavRequest } from "../requests/dav-request.ts"

/** Reads an XML body. A long one waits until its caller may use the processor to parse it. */
export async function readXmlBody({ incoming, context, userId }: DavRequest): Promise<Buffer> {
  const body = await readBody(incoming, { maxBytes: bounds.files.xmlBytes.value })
  if (body.length > quickXmlBytes) await context.scheduler.waitForSlot(userId)
  return body
}

/** Parsing a body of this length takes a fraction of a millisecond. */
const quickXmlBytes = 2_048
