// Starts one of the caller's projects by its name, and prints the address: start-project.ts NAME
import { Failure } from "#contract"
import { connect, print } from "./connect.ts"

const client = connect()
const [name = ""] = process.argv.slice(2)
try {
  const project = await client.readProject({ query: { ProjectName: name } })
  const run = await client.startRun({ body: { Project: { ID: project.ID } } })
  print(`${run.State} ${run.URL}`)
} catch (error) {
  if (!(error instanceof Failure)) throw error
  // A start that failed says why: a code for programs, a sentence for people, the last output.
  const { Reason: reason, URL: url } = error.extra as { Reason?: { logTail?: string }; URL?: string }
  print(`${error.code}: ${error.message}${url ? ` at ${url}` : ""}`)
  if (reason?.logTail) print(reason.logTail)
  process.exitCode = 1
}
