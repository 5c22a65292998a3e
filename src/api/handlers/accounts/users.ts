import { AuthenticationFailure, authorize, type Credential, can, notFound, sessionHashOf, userResource } from "#access"
import { Failure, type User } from "#contract"
import { removeFromAllGroups, stopRunsOfUser, withNewHome } from "#projects"
import { changesFromBody, fieldsFromBody, tables, type UserRow } from "#store"
import type { HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { laneOf } from "../../lane.ts"
import { omitUndefined } from "../../omit-undefined.ts"
import { refreshCaller } from "../../refresh-caller.ts"
import { toListFilter } from "../../responses/accounts.ts"
import { toLimitsResponse, toStoredLimits } from "../../responses/limits.ts"
import { toCommonFields, toListResponse, toPageRequest } from "../../responses/lists.ts"
import { requireId } from "../resources/owned-resource.ts"

function toUserResponse({ settings }: Services, row: UserRow): User {
  return {
    ...toCommonFields(row),
    UserName: row.userName,
    Email: row.email,
    Comment: row.comment,
    IsAdmin: row.isAdmin,
    IsDisabled: row.isDisabled,
    Limits: toLimitsResponse(row.limits, settings.memoryUnit),
  }
}

async function createUser(context: OperationContext<"createUser">): Promise<HandlerResult<"createUser">> {
  const { services } = context
  authorize(context.caller, "user:create", { resource: { type: "user" }, what: "account" })
  const values = context.body
  const passwordHash = values.Password === "" ? null : await services.identity.hashPassword(values.Password)
  const limits = toStoredLimits(values.Limits, services.settings.memoryUnit, "Limits")
  await services.identity.accounts.checkNameIsFree(services.store, values.UserName)
  // Before the change: all others would wait for the file server.
  const row = await withNewHome(services, values.UserName, async () => {
    // Hash and directory may have waited for long.
    authorize(await refreshCaller(context), "user:create", { resource: { type: "user" }, what: "account" })
    return services.store.change(async (tx) => {
      const made = await services.identity.accounts.create(tx, { ...fieldsFromBody(tables.users, values), passwordHash, limits })
      await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "user", id: made.id } })
      return made
    })
  })
  context.setHeader("etag", etagOf(row))
  return toUserResponse(services, row)
}

/**
 * Administrators change everything but the name. Other people change only their own password, and
 * must send the current one. Few of a person's changes wait: their hashes would stand before
 * everybody's sign-ins.
 */
async function updateUser(context: OperationContext<"updateUser">): Promise<HandlerResult<"updateUser">> {
  const { caller, server } = context
  return caller.isAdmin ? changeUser(context) : server.passwordChanges.run(laneOf("updateUser", caller), () => changeUser(context))
}

async function changeUser(context: OperationContext<"updateUser">): Promise<HandlerResult<"updateUser">> {
  const { services, caller, actor } = context
  const id = context.body.ID
  const before = await services.store.users.get(id)
  const given = context.body.check(before && { Email: before.email, Comment: before.comment })
  authorize(caller, "user:change", { resource: before && userResource(before), what: "account" })
  const user = before as UserRow
  if (given.UserName !== undefined && given.UserName !== user.userName)
    throw new Failure("invalid", "UserName never changes", { field: "UserName" })
  const fields = omitUndefined({
    ...changesFromBody(tables.users, given),
    limits: given.Limits && toStoredLimits(given.Limits, services.settings.memoryUnit, "Limits"),
  })
  const isAllowed = can(caller, "user:administer", userResource(user)) === "yes"
  if (!isAllowed) checkOwnFields(user, fields)
  const { passwordHash, proof } = await newPasswordOf(context, {
    user,
    isAllowed,
    password: given.Password,
    current: given.CurrentPassword,
  })
  // The hash may have waited for long.
  const right = isAllowed ? "user:administer" : "user:change"
  authorize(await refreshCaller(context), right, { resource: userResource(user), what: "account" })
  // Each credential may send thousands a minute, and each change would be a row of the audit.
  if (!isAllowed && passwordHash === undefined) {
    checkIfMatch(context.header("if-match"), user)
    return answerUser(context, user)
  }
  const keepSession = caller.userId === id ? sessionHashOf(caller.credential) : undefined
  const row = await services.store.change(async (tx) => {
    const stored = await tx.users.get(id)
    if (!stored) throw notFound("account")
    checkIfMatch(context.header("if-match"), stored)
    const changes = { ...(isAllowed ? fields : {}), ...(passwordHash === undefined ? {} : { passwordHash }) }
    const changed = await services.identity.accounts.update(tx, id, changes, { keepSession, proof })
    await services.events.changed(tx, actor, { verb: "updated", resource: { type: "user", id } })
    if (changed.isAdmin !== stored.isAdmin) await services.events.everythingChanged(tx, [id])
    return changed
  })
  context.server.objectLimits.reset()
  if (row.isDisabled && !user.isDisabled) await stopRunsOfUser(services, id)
  return answerUser(context, row)
}

function answerUser(context: OperationContext<"updateUser">, row: UserRow): HandlerResult<"updateUser"> {
  context.setHeader("etag", etagOf(row))
  return toUserResponse(context.services, row)
}

function checkOwnFields(user: UserRow, fields: object): void {
  for (const [name, value] of Object.entries(fields)) {
    if (JSON.stringify(value) !== JSON.stringify(user[name as keyof UserRow])) {
      throw new Failure("forbidden", "A person may change their own Password and nothing else of the account", { field: apiNameOf(name) })
    }
  }
}

interface PasswordChange {
  user: UserRow
  /** Whether the caller is an administrator, who needs no current password. */
  isAllowed: boolean
  password: string | undefined
  current: string | undefined
}

/** The hash of the new password, if there is one, and the credential that the person proved. */
async function newPasswordOf(
  context: OperationContext<"updateUser">,
  { user, isAllowed, password, current }: PasswordChange,
): Promise<{ passwordHash?: string; proof?: Credential }> {
  const { identity } = context.services
  if (!password) return {}
  if (isAllowed) return { passwordHash: await identity.hashPassword(password) }
  if (current === undefined) throw new Failure("invalid", "CurrentPassword is needed: a string", { field: "CurrentPassword" })
  const proof = await proofOf(context, user, current)
  return { proof, passwordHash: await identity.hashPassword(password) }
}

async function proofOf({ services, actor }: OperationContext<"updateUser">, user: UserRow, current: string): Promise<Credential> {
  const proof = await services.identity.checkPassword(user.userName, current, actor.address)
  if (!(proof instanceof AuthenticationFailure)) return proof.credential
  throw new Failure(proof.code, proof.status === 401 ? "CurrentPassword is wrong for this user name" : proof.message, {
    field: "CurrentPassword",
    headers: proof.headers,
  })
}

function apiNameOf(field: string): string {
  return field.slice(0, 1).toUpperCase() + field.slice(1)
}

async function deleteUser(context: OperationContext<"deleteUser">): Promise<HandlerResult<"deleteUser">> {
  const { services } = context
  const id = requireId(context)
  await services.store.change(async (tx) => {
    const stored = await tx.users.get(id)
    authorize(context.caller, "user:delete", { resource: stored && userResource(stored), what: "account" })
    checkIfMatch(context.header("if-match"), stored as UserRow)
    await removeFromAllGroups(services, tx, { actor: context.actor, userId: id })
    await services.identity.accounts.delete(tx, id)
    await services.events.changed(tx, context.actor, {
      verb: "deleted",
      resource: { type: "user", id },
      was: userResource(stored as UserRow),
    })
  })
  await stopRunsOfUser(services, id)
  return { ok: true }
}

async function readUser(context: OperationContext<"readUser">): Promise<HandlerResult<"readUser">> {
  const { services } = context
  const { ID, UserName } = context.query
  if (ID === undefined && UserName === undefined) throw new Failure("invalid", "ID or UserName is needed", { field: "ID" })
  const row = ID !== undefined ? await services.store.users.get(ID) : await services.store.users.byName(UserName as string)
  const fits = row && (UserName === undefined || row.userName === UserName)
  authorize(context.caller, "user:read", { resource: fits ? userResource(row) : undefined, what: "account" })
  context.setHeader("etag", etagOf(row as UserRow))
  return toUserResponse(services, row as UserRow)
}

async function listUsers(context: OperationContext<"listUsers">): Promise<HandlerResult<"listUsers">> {
  const { services } = context
  const { query } = context
  const page = toPageRequest(query)
  const found = await services.store.users.list(toListFilter(query, query.UserName === undefined ? {} : { userName: query.UserName }), page)
  return toListResponse(
    found,
    page,
    found.rows.map((row) => toUserResponse(services, row)),
  )
}

export const userHandlers = { createUser, updateUser, deleteUser, readUser, listUsers } satisfies Partial<Handlers>
