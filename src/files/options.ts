import type { Call } from "./call.ts"
import { methodNames } from "./methods.ts"
import { answerEmpty } from "./respond.ts"

/** Tells what can be done at an address that the caller may see. */
export async function options(call: Call): Promise<void> {
  await call.visible()
  answerEmpty(call.response, 200, {
    DAV: "1, 2",
    "MS-Author-Via": "DAV",
    Allow: methodNames.join(", "),
    "Accept-Ranges": "bytes",
  })
}
