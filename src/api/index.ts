export type { ApiSettings, OpenIdSignIn, Services } from "./context.ts"
export { readinessAnswer } from "./handlers/installation.ts"
export { type ApiServer, createApi } from "./server.ts"
export type { MemoryUnit } from "./units.ts"
