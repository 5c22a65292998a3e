export type { NoPortReason, PortAssignment, PortAssignments } from "./addressing/port-choice.ts"
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts"
export type { RunDirectory, RunTarget, Visitor } from "./run-directory.ts"
export type { TicketRequest } from "./sessions/tickets.ts"
