import type { List } from "#contract"
import type { EventSink } from "#events"
import type { JsonLinesOptions } from "#http"

/** Forms of an answer of type `T` that are not serialized to JSON at once. */
export type AnswerForm<T> = SerializedJson<T> | (T extends List<infer Item> ? LongList<Item> : never) | StreamForm<T>

type StreamForm<T> = T extends AsyncIterable<infer Item> ? JsonLines<Item> | EventStream<Item> : never

/** An answer that is already serialized. */
export class SerializedJson<T> {
  readonly text: string
  /** Never set: the type of the answer. */
  declare readonly answer?: T

  constructor(answer: T) {
    this.text = JSON.stringify(answer)
  }
}

/** A list that is too large to be read at once. Its rows are read in slices while they are sent. */
export class LongList<T> {
  /** The members of the answer beside `data`. */
  readonly rest: Omit<List<T>, "data">
  readonly slices: number
  /** The objects of one slice. */
  readonly read: (slice: number) => Promise<T[]>

  constructor(rest: Omit<List<T>, "data">, slices: number, read: (slice: number) => Promise<T[]>) {
    this.rest = rest
    this.slices = slices
    this.read = read
  }
}

/** JSON lines, sent as they come. */
export class JsonLines<T> {
  readonly lines: AsyncIterable<T>
  readonly options: JsonLinesOptions

  constructor(lines: AsyncIterable<T>, options: JsonLinesOptions) {
    this.lines = lines
    this.options = options
  }
}

/** Events of type `T`, sent until either side disconnects. */
export class EventStream<T> {
  /** Resolves when the first event to send is known, with the function that begins the stream. */
  readonly open: () => Promise<(sink: EventSink) => void>
  /** Never set: the type of the events. */
  declare readonly event?: T

  constructor(open: () => Promise<(sink: EventSink) => void>) {
    this.open = open
  }
}
