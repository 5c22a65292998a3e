import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty } from "../responses.ts"
import { tusExtensions, tusVersion } from "../uploads/tus.ts"
import { methodNames } from "./method-names.ts"

/** Lists the methods for an address that the caller may see. */
export async function options(request: DavRequest): Promise<void> {
  await request.assertVisible()
  sendEmpty(request.response, 200, {
    DAV: "1, 2",
    "MS-Author-Via": "DAV",
    Allow: methodNames.join(", "),
    "Accept-Ranges": "bytes",
    "Tus-Resumable": tusVersion,
    "Tus-Version": tusVersion,
    "Tus-Extension": tusExtensions,
  })
}
