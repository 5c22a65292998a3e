export {
  type Actor,
  createEvents,
  type Events,
  type EventsOptions,
  type Resource,
  type ResourceType,
  type Sight,
  service,
  type Verb,
} from "./events.ts"
export { Feed, type FeedOptions, type OpenOptions, type Sink } from "./feed.ts"
export type { FeedPolicy, Looker, Verdict } from "./feed-policy.ts"
