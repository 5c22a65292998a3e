import type { LogLine, ServerEvent } from "#contract"

type Body = Pick<Response, "body">

/**
 * The events of a response as they come, until it ends. Leaving the loop closes the connection.
 * Beside the server's events there is `position`: nothing happened, and the stream got so far.
 */
export async function* readEvents(response: Body): AsyncGenerator<ServerEvent, void, undefined> {
  for await (const blocks of readParts(response, "\n\n")) {
    for (const block of blocks) {
      const event = parseEvent(block)
      if (event) yield event
    }
  }
}

/** The JSON lines of a response as they come, until it ends. */
export async function* readLines(response: Body): AsyncGenerator<LogLine, void, undefined> {
  for await (const lines of readParts(response, "\n")) for (const line of lines) yield JSON.parse(line) as LogLine
}

/** The parts of each chunk that end in the separator. */
async function* readParts(response: Body, separator: string): AsyncGenerator<string[], void, undefined> {
  if (!response.body) return
  let rest = ""
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split(separator)
    rest = parts.pop() ?? ""
    yield parts
  }
}

function parseEvent(block: string): ServerEvent | undefined {
  const fields = new Map(block.split("\n").map((line) => parseField(line)))
  const id = fields.get("id")
  if (id === undefined) return undefined
  const data = fields.get("data")
  return { id, event: data === undefined ? "position" : (fields.get("event") ?? "message"), data: JSON.parse(data ?? "{}") }
}

function parseField(line: string): [name: string, value: string] {
  const colon = line.indexOf(": ")
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 2)]
}
