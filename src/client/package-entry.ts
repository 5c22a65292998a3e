/**
 * The client of Quayside's HTTP API.
 *
 * @example
 * ```ts
 * import { bearerAuth, createClient, startRun } from "quayside"
 *
 * const baseUrl = "https://quayside.example.com"
 * const client = createClient({ baseUrl, authorization: bearerAuth(token) })
 * await using run = await startRun(client, { ProjectID: 7, Gpus: 1 })
 * for await (const line of run.logs({ follow: true })) console.log(line.text)
 * ```
 *
 * @packageDocumentation
 */
export type {
  Answer,
  AuditEntry,
  Body,
  Capacity,
  Data,
  FailureCode,
  Grant,
  Group,
  Image,
  List,
  LogLine,
  OperationId,
  Preview,
  Progress,
  Project,
  QueryOf,
  Reason,
  ReasonCode,
  RunningProject,
  RunState,
  RunStats,
  Token,
  User,
  Whoami,
} from "#contract"
export { Failure, isLive, runStates } from "#contract"
export * from "./index.ts"
