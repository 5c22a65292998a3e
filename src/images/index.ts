export { type CredentialEntry, parseCredentials } from "./credential-rules.ts"
export { createImages, type ImageRequest, type ImageState, type Images, type ImagesOptions } from "./images.ts"
