import type { Call } from "./call.ts"
import { answerEmpty } from "./respond.ts"

/** Tells what can be done at an address that the caller may see. */
export async function options(call: Call): Promise<void> {
  await call.visible()
  answerEmpty(call.response, 200, {
    DAV: "1, 2",
    "MS-Author-Via": "DAV",
    Allow: "OPTIONS, GET, HEAD, PUT, DELETE, MKCOL, PROPFIND, PROPPATCH, COPY, MOVE, LOCK, UNLOCK",
    "Accept-Ranges": "bytes",
  })
}
