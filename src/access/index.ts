export type { Accounts, NewAccount } from "./accounts/accounts.ts"
export { impersonate, ownerAsCaller } from "./accounts/impersonate.ts"
export { AuthenticationFailure, type Caller, type Credential, type Scope, scopedRunId, sessionHashOf, toViewer } from "./caller.ts"
export { readAuthorizationHeader } from "./credentials/authorization-header.ts"
export { type SessionDevice, type Sessions, sessionLifetimeMs } from "./credentials/sessions.ts"
export type { NewToken, Tokens } from "./credentials/tokens.ts"
export { createIdentity, type Identity, type IdentityOptions } from "./identity.ts"
export { createOpenId, type OpenId, type OpenIdOptions, openIdSignInMs } from "./openid/openid.ts"
export {
  changedMemberships,
  changeMembership,
  createsAccount,
  type Membership,
  type ProvisionedAccount,
  type ProvisioningRules,
  provisionAccount,
} from "./openid/provision-account.ts"
export { authorize, authorizeWithGrants, forbidden, isAllowed, notFound } from "./policy/authorize.ts"
export { type FileAccess, homePath, loadFileAccess, loadMountModes, mountKeys, mountMode } from "./policy/file-access.ts"
export { decideWithGrants, loadAllGrants, loadGrants } from "./policy/load-grants.ts"
export { can, type Decision, type PolicyGrant, type Principal, type Resource } from "./policy/policy.ts"
export {
  dataResource,
  grantResource,
  groupResource,
  imageResource,
  missingResource,
  newResource,
  projectResource,
  runResource,
  sessionResource,
  toGrant,
  tokenResource,
  userResource,
} from "./policy/resources.ts"
export { type Action, actions, type Relation, type ResourceType, type Right, relations, rights } from "./policy/rights.ts"
