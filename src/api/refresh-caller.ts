import type { Caller } from "#access"
import { Failure } from "#contract"
import type { HandlerContext } from "./context.ts"

/**
 * The caller as they are now, which may be minutes after the request began: they may have left a
 * group since. Throws if their credential has ended.
 */
export async function refreshCaller({ services, caller }: Pick<HandlerContext, "services" | "caller">): Promise<Caller> {
  const now = await services.identity.refreshCaller(caller.userId, caller.credential.id)
  if (now) return now
  throw new Failure("unauthorized", "The credential of this request has ended")
}
