// Compiled against the installed package, and run by Node.

import { bearerAuth, createClient, Failure, followEvents, type LogLine, type RunningProject, startRun } from "quayside"

const { QUAYSIDE_SERVER: baseUrl = "", QUAYSIDE_TOKEN: token = "" } = process.env
const client = createClient({ baseUrl, authorization: bearerAuth(token) })

async function firstLine(lines: AsyncIterable<LogLine>): Promise<string | undefined> {
  for await (const line of lines) return line.text
  return undefined
}

async function firstRunEvent(): Promise<string | undefined> {
  const controller = new AbortController()
  for await (const { event } of followEvents(client, { signal: controller.signal, after: "0" })) {
    if (!event.startsWith("run.")) continue
    controller.abort()
    return event
  }
  return undefined
}

const found: { state?: RunningProject["State"]; line?: string; event?: string; refusal?: string } = {}
{
  await using run = await startRun(client, { ProjectID: Number(process.argv[2]) })
  found.state = run.run.State
  const line = await firstLine(run.logs())
  if (line !== undefined) found.line = line
  const event = await firstRunEvent()
  if (event !== undefined) found.event = event
}
try {
  await client.readRun({ query: { ID: 999_999 } })
} catch (error) {
  if (error instanceof Failure) found.refusal = error.code
}
process.stdout.write(JSON.stringify(found))
