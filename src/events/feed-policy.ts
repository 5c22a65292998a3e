import type { JournalRow } from "#store"

/** The properties of a person that decide what they see. */
export interface Subscriber {
  readonly userId: number
}

/**
 * The part of a row that a subscriber gets: the whole, its outline, its deletion (the ID alone), a
 * reset, or nothing.
 */
export type EventVisibility = "whole" | "outline" | "gone" | "reset" | "none"

/** The rules of visibility. They come from outside: the feed knows only rows and streams. */
export interface FeedPolicy<L extends Subscriber, Resources> {
  /**
   * The subscriber of an earlier credential as they are now; undefined when the credential has
   * ended.
   */
  loadSubscriber(userId: number, credentialId: string): Promise<L | undefined>
  /**
   * Calls the listener when loaded subscribers of these people (undefined: of all) may be stale.
   */
  onInvalidate(listener: (userIds: readonly number[] | undefined) => void): Disposable
  /** Invalidates what these rows changed, whichever process wrote them. */
  invalidate(rows: readonly JournalRow[]): void
  /** Loads the resources of these rows as they are now. */
  loadResources(rows: readonly JournalRow[]): Promise<Resources>
  /** Pure. */
  visibilityOf(subscriber: L, row: JournalRow, resources: Resources): EventVisibility
  /**
   * Subscribers of one audience see every row alike, unless it affects one of them individually.
   */
  audienceOf(subscriber: L): string
  /** The people who may see one of the rows differently from others of their audience. */
  affectedUsers(rows: readonly JournalRow[], resources: Resources): Iterable<number>
}
