export type { NoPortReason, PortAssignment, PortAssignments } from "./forms/port-choice.ts"
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts"
export type { LiveRun, RunDirectory, Visitor } from "./run-directory.ts"
export type { TicketRequest } from "./sessions/tickets.ts"
