import type { JournalRow } from "#store"

/** As much of somebody as decides what they are told of. */
export interface Subscriber {
  readonly userId: number
}

/**
 * What somebody is told of a row: all of it; its outline; that the resource is gone (its ID alone);
 * that everything is to be read again; nothing.
 */
export type EventVisibility = "whole" | "outline" | "gone" | "reset" | "none"

/**
 * The rules of who sees what, as the feed asks them. They come from outside: the feed knows rows
 * and readers.
 */
export interface FeedPolicy<L extends Subscriber, Resources> {
  /** The looker of an earlier proof as they are now; undefined when the proof has ended. */
  loadSubscriber(userId: number, credentialId: string): Promise<L | undefined>
  /** Calls back when what was recalled of these people (undefined: of all) may be wrong. */
  onInvalidate(listener: (userIds: readonly number[] | undefined) => void): Disposable
  /** Makes `recall` read anew what these rows changed, whichever process wrote them. */
  invalidate(rows: readonly JournalRow[]): void
  /** The resources that these rows are about, as they are now. */
  loadResources(rows: readonly JournalRow[]): Promise<Resources>
  /** Pure. */
  visibilityOf(subscriber: L, row: JournalRow, resources: Resources): EventVisibility
  /** Lookers of one class get the same verdict on every row that does not concern one of them. */
  audienceOf(subscriber: L): string
  /** The people for whom the verdict may be another one than for others of their class. */
  affectedUsers(row: JournalRow, resources: Resources): Iterable<number>
}
