import { Failure } from "#contract"
import type { Reads } from "#store"
import type { Caller } from "../caller.ts"
import { loadGrants } from "./load-grants.ts"
import { can, type Resource } from "./policy.ts"
import { missingResource } from "./resources.ts"
import type { Action } from "./rights.ts"

/**
 * Asks the policy; a resource that the caller may not see is 404, an action that they may not
 * perform on it is 403. `resource` undefined: there is none.
 */
export function authorize(caller: Caller, action: Action, asked: { resource: Resource | undefined; what: string }): void {
  const { resource, what } = asked
  const verdict = resource === undefined ? "hidden" : can(caller, action, resource)
  if (verdict === "hidden") throw notFound(what)
  if (verdict === "forbidden") throw forbidden(caller, action, { resource, words: `with this ${what} ` })
}

/** A 403 that says so when only the token's scopes are missing. */
export function forbidden(caller: Caller, action: Action, asked: { resource?: Resource | undefined; words: string }): Failure {
  const { userName } = caller
  const couldOtherwise = can({ ...caller, scopes: ["read", "write"] }, action, asked.resource) === "yes"
  const msg = couldOtherwise
    ? `This token of ${userName}'s is for reading only (${action})`
    : `${userName} may not do this ${asked.words}(${action})`
  return new Failure("forbidden", msg)
}

/**
 * The resource with its grants, read only if the decision depends on them. For missing and deleted
 * resources the same queries run: the time of a refusal must not reveal that a resource exists.
 */
async function wholeOf(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  action: Action,
  resource: Resource | undefined,
): Promise<Resource | undefined> {
  const isThere = resource !== undefined && !resource.deleted
  const type = action.slice(0, action.indexOf(":")) as Resource["type"]
  const [whole] = await loadGrants(reads, caller, { actions: [action], resources: [isThere ? resource : missingResource(type)] })
  return isThere ? whole : resource
}

/**
 * `authorize` for resources that may be granted, at the same cost whether there is such a resource
 * or not.
 */
export async function authorizeWithGrants(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  action: Action,
  asked: { resource: Resource | undefined; what: string },
): Promise<void> {
  authorize(caller, action, { resource: await wholeOf(reads, caller, action, asked.resource), what: asked.what })
}

/** Whether the caller may do this, at the same cost whether there is such a resource or not. */
export async function isAllowed(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  action: Action,
  resource: Resource | undefined,
): Promise<boolean> {
  const whole = await wholeOf(reads, caller, action, resource)
  return whole !== undefined && can(caller, action, whole) === "yes"
}

/** The same whether the resource is hidden from the caller or missing. */
export function notFound(what: string): Failure {
  return new Failure("not_found", `There is no such ${what}, or you may not see it`)
}
