export type { ApiSettings, OpenIdSignIn, Services } from "./context.ts"
export { type ApiServer, createApi } from "./server.ts"
export type { MemoryUnit } from "./units.ts"
