export type { NewPerson, People } from "./accounts/accounts.ts"
export { impersonate, ownerAsActor } from "./accounts/impersonate.ts"
export { type Caller, onlyRun, type Proof, Refusal, type Scope, viewerOf } from "./caller.ts"
export { soleAuthorization } from "./credentials/authorization-header.ts"
export { type Sessions, sessionMs } from "./credentials/sessions.ts"
export type { NewToken, Tokens } from "./credentials/tokens.ts"
export { createIdentity, type Identity, type IdentityOptions } from "./identity.ts"
export { createOpenId, type OpenId, type OpenIdOptions, openIdMs } from "./openid/openid.ts"
export { type Admitted, admit, type OpenIdRules } from "./openid/provision-account.ts"
export { authorize, authorizeWithGrants, forbidden, isAllowed, notFound } from "./policy/authorize.ts"
export { type FileAccess, fileAccess, homeOf, mayMount, mountAreas, mountsOf } from "./policy/file-access.ts"
export { decide, loadAllGrants, loadGrants } from "./policy/load-grants.ts"
export { type Actor, type Answer, can, type Grant, type Resource } from "./policy/policy.ts"
export {
  dataResource,
  grantOf,
  grantResource,
  groupResource,
  imageResource,
  missingResource,
  newResource,
  projectResource,
  runResource,
  tokenResource,
  userResource,
} from "./policy/resources.ts"
export { type Action, actions, type Relation, type ResourceType, type Right, relations, rights } from "./policy/rights.ts"
