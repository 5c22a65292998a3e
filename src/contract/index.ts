export { type FailureCode, failureStatus, type Reason, type ReasonCode, reasonSentences, reasonStatus } from "./codes.ts"
export { Failure, type FailureBody, type FailureOptions } from "./failure.ts"
export { isLive, mayMove, type Progress, type ProjectType, projectTypes, type RunState, runStateNames, runStates } from "./states.ts"
