export { type CredentialEntry, parseCredentials } from "./credential-rules.ts"
export { createImages, type ImageState, type Images, type ImagesOptions, type Wanted } from "./images.ts"
