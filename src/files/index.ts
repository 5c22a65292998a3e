export type { Access, Authority, Identified } from "./authority.ts"
export type { ListenAddress } from "./sockets.ts"
export { type Files, type FilesOptions, startFiles } from "./start.ts"
