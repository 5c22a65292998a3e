export { type CredentialEntry, parseCredentials } from "./credential-rules.ts"
export { createPullRecorder } from "./image-pruner.ts"
export { createImages, type ImageRequest, type ImageState, type Images, type ImagesOptions } from "./images.ts"
export type { PruneDecision, PruneRules } from "./prune-policy.ts"
