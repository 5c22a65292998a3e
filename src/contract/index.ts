export { type Bound, type BoundUnit, boundSections, bounds } from "./bounds/index.ts"
export { type FailureCode, failureStatus, type Reason, type ReasonCode, reasonSentences, reasonStatus } from "./codes.ts"
export { Failure, type FailureBody, type FailureOptions } from "./failure.ts"
export { CommandError, fillIn, type Placeholders, parseCommand } from "./formats/command.ts"
export { parseEnv } from "./formats/env.ts"
export { checkAccountName, parsePort } from "./formats/names.ts"
export {
  checkOciReference,
  defaultRegistry,
  fullReference,
  type OciReference,
  parseOciReference,
  referenceText,
} from "./formats/oci-reference.ts"
export { checkMountPath, defaultMountPaths, type MountPlan, normalPath, planMounts, slug } from "./formats/paths.ts"
export { openApi } from "./openapi.ts"
export { nearest, type Param, type Params, pageSizeDefault, pageSizeMax, parseQuery, type Query, type Sort } from "./query.ts"
export { type Entry, type OperationEntry, referenceOperations, typeOf } from "./reference.ts"
export { type Data, type DataPart, dataFields } from "./resources/data.ts"
export { type Grant, grantFields } from "./resources/grant.ts"
export { type Image, type ImageCheck, type ImagePart, imageFields } from "./resources/image.ts"
export {
  defaultLimits,
  type EffectiveLimits,
  type Group,
  groupFields,
  type LimitName,
  type Limits,
  limitNames,
  noLimits,
  sessionFields,
  type Token,
  tokenFields,
  type User,
  userFields,
  type Whoami,
} from "./resources/people.ts"
export { type Project, type ProjectData, type ProjectDataInput, projectFields } from "./resources/project.ts"
export { type RunningProject, runningProjectFields } from "./resources/running-project.ts"
export {
  type Answer,
  asObject,
  bodyId,
  checkPlain,
  complete,
  describe,
  type Field,
  type Fields,
  invalid,
  isPlain,
  type JsonSchema,
  parseBody,
} from "./schema.ts"
export { isLive, mayMove, type Progress, type ProjectType, projectTypes, type RunState, runStateNames, runStates } from "./states.ts"
export { type Endpoint, endpoints, type Method, type Operation, operations } from "./table.ts"
