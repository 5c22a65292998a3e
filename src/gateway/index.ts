export { wantsPage } from "./browser.ts"
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts"
export type { GatewayHost, Target, Visitor } from "./host.ts"
export type { TicketRequest } from "./tickets.ts"
