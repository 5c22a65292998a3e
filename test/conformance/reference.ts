import {
  describeType,
  failureStatus,
  openApi,
  operationsByTag,
  type ProjectType,
  type ReasonCode,
  type ReasonTopic,
  type ReferenceRow,
  reasonStatus,
  reasonTexts,
  runStates,
} from "#contract"
import { settingsTable } from "#main"
import { projectTypeRules, type ReadinessCheck, resolveRunSettings } from "#runs"
import { limitsPage } from "./limits.ts"
import { conformancePage } from "./page.ts"
import { permissionsPage } from "./permissions.ts"

const notice = `This page is made from the code's own tables by \`script/reference\`; a test fails when it is not
current.`

/** The pages of `docs/reference/` that are made from tables, by their file names. */
export function referencePages(): Readonly<Record<string, string>> {
  return {
    "api.md": api(),
    "settings.md": settings(),
    "codes.md": codes(),
    "reasons.md": reasons(),
    "states.md": states(),
    "types.md": types(),
    "conformance.md": conformancePage(),
    "../explanation/limits.md": limitsPage(notice),
    "../explanation/permissions.md": permissionsPage(notice),
  }
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line), ""].join("\n")
}

const entries = (title: string, rows: readonly ReferenceRow[]) =>
  rows.length === 0
    ? ""
    : `\n${table(
        [title, "Type", "Meaning"],
        rows.map(({ name, type, need, description }) => [`\`${name}\`${need === "" ? "" : ` (${need})`}`, shown(type), shown(description)]),
      )}`

function shown(text: string): string {
  return text.replaceAll("<", "&lt;")
}

function api(): string {
  const sections = [...operationsByTag()].map(([tag, operations]) => {
    const parts = operations.map(
      ({ method, path, summary, query, headers, body, answer, permission }) =>
        `### ${method} ${path}\n\n${summary}. Answers ${shown(answer)}. Right: ${shown(permission)}.\n${entries("Query", query)}${entries("Header", headers)}${entries("Body", body)}`,
    )
    return `## ${tag}\n\n${parts.join("\n")}`
  })
  return `# HTTP API

${notice} Every installation serves the same at \`/docs\`, and for programs at \`/openapi.json\`. [The interface](interface/README.md) describes what all requests have in common; failures have one of [these codes](codes.md).

${sections.join("\n")}
## Structures

${structures()}`
}

function structures(): string {
  const { schemas } = openApi({ version: "", baseUrl: "", memoryUnit: "MiB" }).components as {
    schemas: Record<string, { properties?: Record<string, { description?: string }> }>
  }
  const parts = Object.entries(schemas).flatMap(([name, { properties }]) => {
    if (!properties) return []
    const rows = Object.entries(properties).map(
      ([field, schema]): ReferenceRow => ({ name: field, type: describeType(schema), need: "", description: schema.description ?? "" }),
    )
    return [`### ${name}\n${entries("Field", rows)}`]
  })
  return parts.join("\n")
}

function settings(): string {
  const rows = Object.entries(settingsTable).map(([name, { env, default: initial, doc }]) => [
    `\`QUAYSIDE_${env}\``,
    `\`${name}\``,
    shown(initial),
    shown(doc),
  ])
  return `# Settings

${notice}

Each can be given as an environment variable, in a JSON file (\`--config FILE\` or \`QUAYSIDE_CONFIG\`) under its name, or as an option of \`quayside serve\` (the name with hyphens, such as \`--apps-port\`). The later of file, environment and option wins; an empty variable means unset. An unknown name or a wrong value stops the start.

${table(["Variable", "Name", "Default", "Meaning"], rows)}`
}

function codes(): string {
  const failures = Object.entries(failureStatus).map(([code, status]) => [`\`${code}\``, String(status)])
  return `# Codes

${notice}

## Failures

The \`code\` of a failed request and its usual status: an address that is too long is 414 with \`too_large\`, an expectation that cannot be met 417 and a request that does not arrive in time 408 with \`invalid\`.

A start that failed has one of [these codes](reasons.md) instead.

${table(["Code", "Status"], failures)}`
}

const topics: Readonly<Record<ReasonTopic, string>> = {
  image: "Image",
  files: "Files",
  capacity: "Capacity and limits",
  program: "Program",
  engine: "Engine and disk",
  time: "Time",
  people: "People",
}

function reasons(): string {
  const sections = Object.entries(topics).map(([topic, title]) => {
    const rows = Object.entries(reasonTexts)
      .filter(([, text]) => text.topic === topic)
      .map(([code, { msg, cause, hint }]) => [`\`${code}\``, String(reasonStatus(code as ReasonCode)), msg, cause, hint].map(shown))
    return `## ${title}\n\n${table(["Code", "Status", "Meaning", "Cause", "Cure"], rows)}`
  })
  return `# Reasons

${notice}

A run that failed or ended has a \`Reason\`: \`code\`, \`msg\` (a sentence that names the thing), \`hint\` (what its person can do), \`exitCode\` and \`logTail\` (the last 50 lines of output, for those who may read it). A start that failed has the same \`code\`, with the status below. [Why does my run not start?](../how-to/why-does-my-run-not-start.md) shows where to look.

${sections.join("\n")}`
}

function states(): string {
  const rows = Object.entries(runStates).map(([name, { next, live }]) => [
    `\`${name}\``,
    next.map((each) => `\`${each}\``).join(", ") || "none",
    live ? "yes" : "no",
  ])
  const { timeoutsMs, graceMs, maxLogDays } = resolveRunSettings({})
  const counted = {
    queued: "from the request",
    pulling: "without a byte or layer arriving",
    creating: "",
    starting:
      "from the program's start until it answers; then `port_not_open`, `not_answering` or, where nothing was learnt, `timeout_starting`",
    stopping: `beyond the ${graceMs / 1_000} s that a program has to end; tried again until the engine holds nothing of it`,
  }
  const deadlines = Object.entries(timeoutsMs).map(([name, ms]) => [`\`${name}\``, duration(ms), counted[name as keyof typeof counted]])
  return `# States of a run

${notice}

${table(["State", "May be followed by", "Counts as live"], rows)}
A run that stays longer in a state fails with \`timeout_<state>\`:

${table(["State", "At most", "Counted"], deadlines)}
A request to start a run returns after 30 s if the run is still \`queued\`. A run's output is stored for ${maxLogDays} days after its end: the last 10,000 lines, at most 4 MiB.
`
}

function duration(ms: number): string {
  if (ms >= 3_600_000) return `${ms / 3_600_000} h`
  return ms >= 60_000 ? `${ms / 60_000} min` : `${ms / 1_000} s`
}

function code(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(", ")
}

function searchedDirectories(): string {
  const rows = Object.entries(projectTypeRules).map(([name, { program }]) => ({ name, directories: code(program?.directories ?? []) }))
  const byDirectories = Map.groupBy(
    rows.filter(({ directories }) => directories !== ""),
    ({ directories }) => directories,
  )
  return [...byDirectories].map(([directories, types]) => `- ${code(types.map(({ name }) => name))}: ${directories}`).join("\n")
}

function types(): string {
  const rows = Object.entries(projectTypeRules).map(([name, rule]) => {
    const { port, program, arguments: words, env, readiness: ready, landing, writableRoot } = rule
    const lines = Object.entries(env).map(([key, value]) => `\`${key}=${value}\``)
    const names = program === null ? "the image's own" : code([...program.names, ...program.modules.map((each) => `python3 -m ${each}`)])
    const output = words.length === 0 ? "none" : `\`${JSON.stringify(words)}\``
    return [
      `\`${name}\``,
      String(port),
      names,
      output,
      lines.join(", ") || "none",
      readiness(ready),
      `\`/${landing}\``,
      writableRoot ? "yes" : "no",
    ]
  })
  return `# Types of projects

${notice} A project's \`Type\` sets these defaults; image and project override them. The program starts in the image's working directory, or in the code directory if the image sets none but \`/\`. Its \`HOME\` is the user directory. If the image exposes exactly one TCP port, it replaces the default port of \`http\`. In arguments, \`{codePath}\` is the code directory and \`{workspace}\` the directory of all mounts.

If an image's \`Command\` is empty, Quayside looks for the type's program in the image's \`PATH\`, in \`$VIRTUAL_ENV/bin\` and in these directories:

${searchedDirectories()}

The first one found starts with these arguments, without the image's entry point. If none is found, the image's own entry point starts with its command; so does the command of an image that exposes the type's port. Otherwise the run fails with \`command_not_found\` and names the programs and directories.

${table(["Type", "Port", "Program", "Arguments", "Environment", "Ready when", "First page", "May write to its root file system"], rows)}
## First pages

${firstPages()}`
}

const lab = "JupyterLab with a notebook that reads a dataset"
/** Each type's first page in use: a text and a file. */
const pictures: Readonly<Record<ProjectType, readonly [alt: string, file: string]>> = {
  jupyter: [lab, "jupyterlab.png"],
  jupyterlab: [lab, "jupyterlab.png"],
  jupyternotebook: ["Notebook, in which a cell was computed", "notebook.png"],
  novnc: ["A desktop with a terminal and an editor", "desktop.png"],
  vscode: ["VS Code with a file of the code, and a terminal", "vscode.png"],
  http: ["A Streamlit app", "http.png"],
}

function firstPages(): string {
  const byPicture = Map.groupBy(Object.entries(pictures), ([, [alt, file]]) => `![${alt}](../images/${file})`)
  return [...byPicture].map(([picture, types]) => `${code(types.map(([name]) => name))}:\n\n${picture}\n`).join("\n")
}

function readiness(ready: ReadinessCheck): string {
  if (ready.kind === "websocket") return `the WebSocket at \`/${ready.path}\` greets with \`${ready.banner.trim()}\``
  return `GET \`/${ready.path}\` is answered with ${ready.accepts === "200" ? "200" : "a status below 500"}`
}
