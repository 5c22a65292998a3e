/** Something that happened: `image.updated`, `run.state` and so on. */
export interface ServerEvent {
  /** What `Last-Event-ID` takes, to go on after it. */
  id: string
  /**
   * `reset`: something was missed and everything is to be read again. `place`: nothing happened;
   * the stream got so far.
   */
  event: string
  /** At least the `ID` of what it happened to; nothing for `reset` and `place`. */
  data: { readonly ID: number; readonly [name: string]: unknown }
}

/** The events of an answer as they come, until it ends. Leaving the loop closes the connection. */
export async function* readEvents(answer: Response): AsyncGenerator<ServerEvent, void, undefined> {
  if (!answer.body) return
  let rest = ""
  for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n")
    rest = blocks.pop() ?? ""
    for (const block of blocks) {
      const event = eventOf(block)
      if (event) yield event
    }
  }
}

function eventOf(block: string): ServerEvent | undefined {
  const fields = new Map(block.split("\n").map((line) => partsOf(line)))
  const id = fields.get("id")
  if (id === undefined) return undefined
  const data = fields.get("data")
  return { id, event: data === undefined ? "place" : (fields.get("event") ?? "message"), data: JSON.parse(data ?? "{}") }
}

function partsOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(": ")
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 2)]
}
