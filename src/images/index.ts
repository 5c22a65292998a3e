export { type CredentialEntry, parseCredentials } from "./credentials.ts"
export { createImages, type ImageState, type Images, type ImagesOptions, type Wanted } from "./images.ts"
