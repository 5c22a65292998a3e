export type { GatewayHost, Target, Visitor } from "./host.ts"
