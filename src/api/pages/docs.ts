import { describeType, type JsonSchema, type OperationReference, openApi, operationsByTag, type ReferenceRow } from "#contract"
import { escapeHtml as h } from "./html.ts"

/** The page needs no script and loads nothing from other origins. */
export const docsSecurityPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The description of the API as a page. */
export function docsPage(about: { version: string; baseUrl: string; memoryUnit: string }): string {
  const sections = [...operationsByTag()].map(
    ([tag, operations]) => `<section><h2>${h(tag)}</h2>${operations.map(operationHtml).join("")}</section>`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>HTTP API · Quayside</title>
<link rel="stylesheet" href="/ui/style.css">
<link rel="icon" href="/ui/icon.svg">
<main class="docs">
<h1>HTTP API of Quayside ${h(about.version)}</h1>
<p>Every path answers at ${h(about.baseUrl)} and below <code>/admin</code> too. Success is 200; every failure is a JSON object with <code>ok</code>, <code>msg</code> and <code>code</code>.
<code>Memory</code> and <code>GpuMemory</code> are in ${h(about.memoryUnit)}. For programs: <a href="/openapi.json">/openapi.json</a>.</p>
${sections.join("\n")}
<section><h2>Structures</h2>${structures(about).join("")}</section>
</main>
</html>
`
}

function operationHtml({ method, path, summary, query, headers, body, answer, permission, operation }: OperationReference): string {
  return `<article id="${h(operation)}"><h3><code>${h(method)} ${h(path)}</code></h3><p>${prose(summary)}.</p>
${table("Query", query)}${table("Headers", headers)}${table("Body", body)}<p>Answers ${h(answer)}. Right: ${h(permission)}.</p></article>`
}

function structures(about: Parameters<typeof openApi>[0]): string[] {
  const { schemas } = openApi(about).components as { schemas: Record<string, JsonSchema> }
  return Object.entries(schemas).flatMap(([name, schema]) => {
    if (!schema.properties) return []
    const rows = Object.entries(schema.properties as Record<string, JsonSchema>).map(
      ([field, each]): ReferenceRow => ({ name: field, type: describeType(each), need: "", description: String(each.description ?? "") }),
    )
    return [`<article id="${h(name)}"><h3>${h(name)}</h3>${table("Fields", rows)}</article>`]
  })
}

function table(title: string, rows: readonly ReferenceRow[]): string {
  if (rows.length === 0) return ""
  const lines = rows.map(
    ({ name, type, need, description }) =>
      `<tr><td><code>${h(name)}</code>${need === "" ? "" : ` (${prose(need)})`}</td><td>${h(type)}</td><td>${prose(description)}</td></tr>`,
  )
  return `<table><caption>${h(title)}</caption>${lines.join("")}</table>\n`
}

/** Escapes a text with names between backticks. */
function prose(text: string): string {
  return h(text).replace(/`([^`]*)`/g, "<code>$1</code>")
}
