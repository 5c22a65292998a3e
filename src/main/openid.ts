import { createOpenId } from "#access"
import type { OpenIdSignIn } from "#api"
import type { Clock } from "#kit"
import type { Store } from "#store"
import { secretKey } from "./secrets.ts"
import { SettingError } from "./settings/setting.ts"
import type { Settings } from "./settings/settings.ts"

/** OpenID sign-in as configured; undefined if the settings name no provider. */
export function createOpenIdSignIn(
  settings: Settings,
  made: { store: Store; baseUrl: string; dataDir: string; clock: Clock },
): OpenIdSignIn | undefined {
  if (settings.oidcIssuer === "") return undefined
  return {
    name: settings.oidcName || new URL(settings.oidcIssuer).host,
    rules: { unknown: settings.oidcUnknown, link: settings.oidcLink, groups: settings.oidcGroups },
    openId: createOpenId({
      issuer: settings.oidcIssuer,
      clientId: settings.oidcClientId,
      clientSecret: settings.oidcClientSecret,
      scope: settings.oidcScope,
      userClaim: settings.oidcUserClaim,
      userSuffix: settings.oidcUserSuffix,
      groupsClaim: settings.oidcGroupsClaim,
      admin: settings.oidcAdmin,
      baseUrl: made.baseUrl,
      key: secretKey({ ...settings, dataDir: made.dataDir }, "openid"),
      clock: made.clock,
      claimProof: (proof) => made.store.change((tx) => tx.proofs.use(proof), { urgent: true }),
    }),
  }
}

/** Throws a `SettingError` if a setting of the provider lacks the one that it needs. */
export function assertOpenIdSettings({ oidcIssuer, oidcClientId, oidcGroups, oidcGroupsClaim }: Settings): void {
  if ((oidcIssuer === "") !== (oidcClientId === "")) {
    throw new SettingError("QUAYSIDE_OIDC_ISSUER and QUAYSIDE_OIDC_CLIENT_ID must be set together; only one of them is set")
  }
  if ((oidcGroupsClaim === "") !== (oidcGroups.length === 0)) {
    throw new SettingError("QUAYSIDE_OIDC_GROUPS_CLAIM and QUAYSIDE_OIDC_GROUPS must be set together; only one of them is set")
  }
}
