export type { ApiSettings, Services } from "./context.ts"
export { type ApiServer, createApi } from "./server.ts"
export type { MemoryUnit } from "./units.ts"
