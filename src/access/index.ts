export { type Caller, onlyRun, type Proof, Refusal, type Scope, viewerOf } from "./caller.ts"
export { soleAuthorization } from "./credentials.ts"
export { decide, withAllGrants, withGrants } from "./granted.ts"
export { createIdentity, type Identity, type IdentityOptions } from "./identity.ts"
export { createOpenId, type OpenId, type OpenIdOptions, openIdMs } from "./openid.ts"
export { type Admitted, admit, type OpenIdRules } from "./openid-account.ts"
export { type FileAccess, fileAccess, homeOf, mayMount, mountAreas, mountsOf } from "./paths.ts"
export type { NewPerson, People } from "./people.ts"
export { type Actor, type Answer, can, type Grant, type Thing } from "./policy.ts"
export { type Action, actions, type Right, rights, type Standing, standings, type ThingType } from "./rights.ts"
export { type Sessions, sessionMs } from "./sessions.ts"
export { ownerAsActor, standIn } from "./stand-in.ts"
export {
  dataThing,
  grantOf,
  grantThing,
  groupThing,
  imageThing,
  newThing,
  noThing,
  projectThing,
  runThing,
  tokenThing,
  userThing,
} from "./things.ts"
export type { NewToken, Tokens } from "./tokens.ts"
