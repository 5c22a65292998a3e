export { copyProject } from "./code/copy-project.ts"
export { prepareRun } from "./code/prepare-run.ts"
export { needsRelease, releaseCode } from "./code/release.ts"
export type { ProjectsContext, Requester } from "./context.ts"
export { checkDatasetPath, ensureDatasetDirectory, makeDatasetDirectory } from "./dataset-directory.ts"
export { checkDatasetLinks, updateDatasetLinks } from "./dataset-links.ts"
export { startGrantExpiry } from "./grant-expiry.ts"
export { granteesOf, memberIdsOf } from "./grantees.ts"
export {
  checkGrantForm,
  checkGrantOnSharedDirectory,
  type GrantableType,
  grantables,
  grantableTypes,
  grantTarget,
  loadGrantTarget,
  resolveGrantee,
} from "./grants.ts"
export { publishGroupChange, removeFromAllGroups } from "./group-members.ts"
export { ObjectLimits } from "./object-limits.ts"
export type { AuthorizedPlan } from "./plan/authorize-plan.ts"
export { replanRun } from "./plan/replan.ts"
export { planRun } from "./plan/run-plan.ts"
export { checkStarter, resolveStarter } from "./plan/starter.ts"
export { type Owner, resolveGroup, resolveImage, resolveNewOwner, resolveOwner } from "./references.ts"
export { revalidate } from "./revalidate.ts"
export { checkSharedDirectory } from "./sharing.ts"
export { finishInterruptedMoves, type MovedDataset, transferOwnership } from "./transfer-ownership.ts"
export {
  authorshipAfterChange,
  changesWhatRuns,
  checkReferenceChange,
  checkTrustChange,
  endTrustInProjectsWithImage,
  isAdminImage,
  publishTrustEnd,
  trustAfterPublication,
  writerAfterTransfer,
} from "./trust.ts"
export { publishRunVisibility } from "./visibility.ts"
export { stopRunsOf } from "./withdraw-access.ts"
