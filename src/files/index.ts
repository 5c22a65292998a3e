export type { Access, Authority, Identified } from "./authority.ts"
