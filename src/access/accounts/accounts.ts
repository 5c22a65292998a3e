import { accountNameError, Failure } from "#contract"
import type { Change, NewRow, Reads, UserRow } from "#store"
import type { Credential } from "../caller.ts"
import { passwordCredential } from "../credentials/load-caller.ts"

export type NewAccount = NewRow<UserRow>

export interface Accounts {
  /** Throws `conflict` when an account has or had this name. */
  checkNameIsFree(reads: Pick<Reads, "users">, userName: string): Promise<void>
  /** Throws as `checkNameIsFree` does. */
  create(tx: Change, person: NewAccount): Promise<UserRow>
  /**
   * Sets the given fields. A new password ends the person's sessions but `keepSession` (its sha256,
   * as in the credential's id after `session:`); disabling ends sessions and tokens. `proof`: the
   * password that the person sent with the change; `unauthorized` if they have another one by now.
   * `conflict` when no administrator would remain.
   */
  update(tx: Change, id: number, fields: Partial<Omit<NewAccount, "userName">>, options?: UpdateOptions): Promise<UserRow>
  /** Soft: the row and its name stay; sessions and tokens end. */
  delete(tx: Change, id: number): Promise<UserRow>
}

interface UpdateOptions {
  keepSession?: string | undefined
  proof?: Credential | undefined
}

export function createAccounts({ invalidateAfterCommit }: { invalidateAfterCommit: (tx: Change, userId: number) => void }): Accounts {
  return {
    checkNameIsFree,
    async create(tx, person) {
      const wanted = accountNameError(person.userName)
      if (wanted !== undefined) throw new Failure("invalid", `A user name must be ${wanted}`, { field: "UserName" })
      await checkNameIsFree(tx, person.userName)
      return tx.users.insert(person)
    },
    async update(tx, id, fields, options = {}) {
      const before = await activeAccount(tx, id)
      // While it was hashed, an administrator may have set another one to shut out a thief.
      if (options.proof && options.proof.id !== passwordCredential(before).id) throw passwordChanged()
      const losesAdministrator = fields.isAdmin === false || fields.isDisabled === true
      if (losesAdministrator) await assertOtherAdministrator(tx, before)
      if (fields.passwordHash !== undefined) await tx.sessions.deleteOfUser(id, options.keepSession)
      if (fields.isDisabled === true) await endCredentials(tx, id)
      invalidateAfterCommit(tx, id)
      return found(await tx.users.update(id, fields), id)
    },
    async delete(tx, id) {
      await assertOtherAdministrator(tx, await activeAccount(tx, id))
      await endCredentials(tx, id)
      invalidateAfterCommit(tx, id)
      return found(await tx.users.setDeleted(id, true), id)
    },
  }
}

async function checkNameIsFree(reads: Pick<Reads, "users">, userName: string): Promise<void> {
  if ((await reads.users.byName(userName)) === undefined) return
  throw new Failure("conflict", `The user name ${userName} belongs or belonged to another account; choose another one`, {
    field: "UserName",
  })
}

async function endCredentials(tx: Change, userId: number): Promise<void> {
  await tx.sessions.deleteOfUser(userId)
  await tx.tokens.deleteOfUser(userId)
}

async function activeAccount(tx: Change, id: number): Promise<UserRow> {
  const user = found(await tx.users.get(id), id)
  if (user.deletedAt !== null) throw missing(id)
  return user
}

async function assertOtherAdministrator(tx: Change, leaving: UserRow): Promise<void> {
  if (!leaving.isAdmin || leaving.isDisabled) return
  const { total } = await tx.users.list({ where: { isAdmin: true, isDisabled: false } }, { page: 1, pageSize: 1 })
  if (total <= 1) throw new Failure("conflict", `${leaving.userName} is the only administrator left; create another one first`)
}

function found(user: UserRow | undefined, id: number): UserRow {
  if (!user) throw missing(id)
  return user
}

function passwordChanged(): Failure {
  return new Failure("unauthorized", "CurrentPassword is no longer the password of this account", { field: "CurrentPassword" })
}

function missing(id: number): Failure {
  return new Failure("not_found", `There is no user ${id}`)
}
