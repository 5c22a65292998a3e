import type { HandlerContext } from "../../context.ts"

/** Whether the caller wants an answer at once, and hears of the end in another way (RFC 7240). */
export function respondsAsync(context: Pick<HandlerContext, "header">): boolean {
  return /(^|[,;\s])respond-async($|[,;\s])/i.test(context.header("prefer") ?? "")
}
