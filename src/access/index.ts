export { type Caller, onlyRun, type Proof, Refusal, type Scope, viewerOf } from "./caller.ts"
export { soleAuthorization } from "./credentials.ts"
export { createIdentity, type Identity, type IdentityOptions } from "./identity.ts"
export { impersonate, ownerAsActor } from "./impersonate.ts"
export { decide, loadAllGrants, loadGrants } from "./load-grants.ts"
export { createOpenId, type OpenId, type OpenIdOptions, openIdMs } from "./openid.ts"
export { type Admitted, admit, type OpenIdRules } from "./openid-account.ts"
export { type FileAccess, fileAccess, homeOf, mayMount, mountAreas, mountsOf } from "./paths.ts"
export type { NewPerson, People } from "./people.ts"
export { type Actor, type Answer, can, type Grant, type Resource } from "./policy.ts"
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
} from "./resources.ts"
export { type Action, actions, type Relation, type ResourceType, type Right, relations, rights } from "./rights.ts"
export { type Sessions, sessionMs } from "./sessions.ts"
export type { NewToken, Tokens } from "./tokens.ts"
