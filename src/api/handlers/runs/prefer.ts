import type { HandlerContext } from "../../context.ts"

/** Whether the caller asked for an answer before the work is done (RFC 7240). */
export function prefersAsync(context: Pick<HandlerContext, "header">): boolean {
  return /(^|[,;\s])respond-async($|[,;\s])/i.test(context.header("prefer") ?? "")
}
