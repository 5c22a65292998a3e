export {
  type Actor,
  createEvents,
  type Events,
  type EventsOptions,
  type Sight,
  service,
  type Thing,
  type ThingType,
  type Verb,
} from "./events.ts"
export { Feed, type FeedOptions, type OpenOptions, type Sink } from "./feed.ts"
export type { FeedPolicy, Looker, Verdict } from "./policy.ts"
