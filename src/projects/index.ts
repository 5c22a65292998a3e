export { abortOnRevocation, type RightHolder, runWhileAllowed } from "./abort-on-revocation.ts"
export { copyProject } from "./code/copy-project.ts"
export { prepareRunDirectories } from "./code/prepare-directories.ts"
export { needsRelease, releaseCode } from "./code/release.ts"
export type { ProjectsContext, Requester } from "./context.ts"
export { checkDatasetPath, ensureDatasetDirectory, makeNewDatasetDirectory } from "./dataset-directory.ts"
export { checkDatasetLinks, updateDatasetLinks } from "./dataset-links.ts"
export { checkDatasetOverlap } from "./dataset-overlap.ts"
export { startGrantExpiry } from "./grant-expiry.ts"
export {
  checkGrantOnOverlappingDatasets,
  checkOneGrantee,
  type GrantableType,
  grantableResources,
  grantableTypes,
  loadGrantTarget,
  parseGrantExpiry,
  parseGrantTarget,
  resolveGrantee,
} from "./grants.ts"
export { publishGroupChange, removeFromAllGroups } from "./group-members.ts"
export { withNewHome } from "./new-home.ts"
export { ObjectLimits } from "./object-limits.ts"
export type { AuthorizedPlan } from "./plan/authorize-plan.ts"
export { replanRun } from "./plan/replan.ts"
export { planRun } from "./plan/run-plan.ts"
export { checkMayStart, resolveStarter } from "./plan/starter.ts"
export { checkTrustedDigest, renewTrustedDigest, renewTrustedDigestOfProject } from "./plan/trusted-digest.ts"
export { publicationWarnings } from "./publication-warnings.ts"
export { type Owner, resolveGroup, resolveImage, resolveNewOwner, resolveOwner } from "./references.ts"
export { finishInterruptedTransfers, type PendingTransfer, transferDataset } from "./transfer-dataset.ts"
export {
  administratorFieldsOfReference,
  authorshipAfterChange,
  changesWhatRuns,
  checkImageReferenceChange,
  checkKeepPresentChange,
  checkTrustChange,
  checkWritablePathsChange,
  endTrustInProjectsWithImage,
  isAdminImage,
  publishTrustEnd,
  trustAfterPublication,
  writerAfterTransfer,
} from "./trust.ts"
export { publishRunVisibility } from "./visibility.ts"
export { stopRunsOfUser } from "./withdraw-access.ts"
