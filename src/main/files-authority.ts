import { AuthenticationFailure, type Identity, impersonate, loadFileAccess, mountKeys } from "#access"
import type { Events } from "#events"
import type { Authority } from "#files"
import type { Clock } from "#kit"
import type { StorageQuotas } from "#runs"
import { readAsPerson, type Store } from "#store"
import { toAccessRefusal, unauthenticatedUser } from "./access-refusal.ts"

/**
 * Authenticates and authorizes the file server's requests. The rules for a path are those for its
 * mounts.
 */
export function createFilesAuthority(made: {
  store: Store
  identity: Identity
  events: Events
  clock: Clock
  quotas: StorageQuotas
}): Authority {
  const { store, identity, events, clock, quotas } = made
  const accessOf: Authority["access"] = async (userId, paths) => {
    const caller = await impersonate(store, await store.users.get(userId), clock.now())
    return caller ? loadFileAccess(store, caller, paths) : paths.map(() => ({ level: "none", canReplace: false }))
  }
  return {
    recordRefusals({ userName = unauthenticatedUser, address, isWrite, code, count }) {
      events.requestRefused({ userName, address, requestId: "" }, isWrite ? "writeFiles" : "readFiles", { code, count })
    },
    async identify(authorization, address, options) {
      const caller = await identity.authenticateForFiles(authorization, address, options)
      if (caller instanceof AuthenticationFailure) return toAccessRefusal(caller)
      const { userId, userName, scopes, credential } = caller
      return { ok: true, userId, userName, credentialId: credential.id, readOnly: !scopes.includes("write") }
    },
    // A path costs dozens of queries, and a person may ask about hundreds of paths at once.
    access: (userId, paths) => readAsPerson(userId, () => accessOf(userId, paths)),
    mountAreas: (paths) => mountKeys(store, paths),
    storageQuota: (account) => quotas.quotaOf(account),
  }
}
