export {
  type Actor,
  type ChangeVerb,
  type EventResourceType,
  type Events,
  type EventsOptions,
  openEvents,
  type ResourceRef,
  serviceActor,
  type VisibilityChange,
} from "./events.ts"
export { EventFeed, type EventFeedOptions, type StreamOptions } from "./feed.ts"
export type { EventVisibility, FeedPolicy, Subscriber } from "./feed-policy.ts"
export { followJournal, type JournalFollowerOptions } from "./journal-follower.ts"
export type { EventSink } from "./stream-writer.ts"
