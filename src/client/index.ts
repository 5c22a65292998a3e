export type { ServerEvent } from "#contract"
export {
  basicAuth,
  bearerAuth,
  type Client,
  type ClientOptions,
  createClient,
  type HttpAnswer,
  type RequestOptions,
  type Send,
  type SendRequest,
} from "./client.ts"
export { type FollowOptions, followEvents } from "./follow-events.ts"
export { type StartedRun, type StartOptions, type StartRequest, startRun, waitUntilReady } from "./start-run.ts"
export { type WatchOptions, watchRun } from "./watch-run.ts"
