import type { JsonSchema } from "#contract"
import { capitalized, className, docstring, type PythonTypes } from "./types.ts"

/** Written by hand in Python: streams; or of no use without a browser. */
const left = new Set(["followEvents", "runLogs", "createSession", "deleteSession", "docs", "metrics", "openapi"])
const keywords = new Set(["from"])

interface Parameter {
  name: string
  in: "query" | "header"
  required: boolean
  schema: JsonSchema
  description?: string
}

interface Operation {
  operationId: string
  summary: string
  parameters?: Parameter[]
  requestBody?: { content: { "application/json": { schema: JsonSchema } } }
  responses: { "200": { content: Record<string, { schema: JsonSchema }> } }
}

interface Method {
  name: string
  path: string
  httpMethod: string
  summary: string
  parameters: readonly Parameter[]
  bodyType: string | undefined
  answerType: string
  /** Query parameters that the method always sends. */
  fixed: Readonly<Record<string, string>>
}

/** A method of Python for each operation of the API, as the text of an asynchronous class. */
export function operationsClass(paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>, types: PythonTypes): string {
  const methods = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { operationId }]) => !left.has(operationId))
      .flatMap(([httpMethod, operation]) => methodsOf(path, httpMethod.toUpperCase(), operation, types)),
  )
  const text = methods.map(methodText).join("\n")
  return `${generatedNotice}from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .. import models

Query = Mapping[str, Any]


class AsyncOperations:
    """A method for each operation of the API; \`AsyncClient\` sends the requests.

    Bodies and answers are dictionaries with the API's own field names. An operation that fails
    raises \`APIError\`. Times are strings in RFC 3339; \`None\` leaves a parameter out.
    """

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Any:
        raise NotImplementedError

${text}`
}

export const generatedNotice = `# Made by script/python-client from the API's own description; a test fails when it is not current.
`

function methodsOf(path: string, httpMethod: string, operation: Operation, types: PythonTypes): Method[] {
  const { operationId, summary, parameters = [], requestBody, responses } = operation
  const name = snake(operationId)
  const body = requestBody?.content["application/json"].schema
  const bodyType = body && types.typeOf(body, `${capitalized(operationId)}Body`)
  const answer = Object.values(responses["200"].content)[0]?.schema ?? {}
  const common = { path, httpMethod, summary, parameters, bodyType, fixed: {} }
  const alternatives = answer.anyOf as JsonSchema[] | undefined
  if (!alternatives) return [{ ...common, name, answerType: answerType(answer, types, operationId) }]
  const [one = {}, list = {}] = alternatives
  const only = parameters.filter((each) => each.name === "ID").map((each) => ({ ...each, required: true }))
  return [
    {
      ...common,
      name: name.replace("list_", "read_"),
      summary: "Read one, by its ID",
      parameters: only.map((each) => ({ ...each, schema: each.schema.items as JsonSchema })),
      answerType: answerType(one, types, operationId),
    },
    // One ID alone would read one object.
    { ...common, name, answerType: answerType(list, types, operationId), fixed: { page: "1" } },
  ]
}

function answerType(schema: JsonSchema, types: PythonTypes, operationId: string): string {
  const { data } = (schema.properties ?? {}) as { data?: { items: { $ref: string } } }
  if (data && !schema.$ref) return `Page[${className(data.items.$ref.slice(data.items.$ref.lastIndexOf("/") + 1))}]`
  return types.typeOf(schema, capitalized(operationId))
}

function methodText({ name, path, httpMethod, summary, parameters, bodyType, answerType, fixed }: Method): string {
  const query = parameters.filter((each) => each.in === "query")
  const headers = parameters.filter((each) => each.in === "header")
  const isShort = parameters.filter((each) => each.required).length === 1 && query[0]?.name === "ID" && query[0].required
  const [first, ...others] = isShort ? query : [undefined, ...query]
  const positional = [...(first ? [argument(first)] : []), ...(bodyType ? [`body: ${models(bodyType)}`] : [])]
  const named = [...others.filter((each) => each !== undefined), ...headers].map(argument)
  const signature = ["self", ...positional, ...(named.length > 0 ? ["*", ...named] : [])].map((each) => `        ${each},\n`)
  const pairs = (list: readonly Parameter[]) => list.map((each) => `"${each.name}": ${identifier(each)}`)
  const queryPairs = pairs(query).map((pair) => {
    const [key = ""] = Object.entries(fixed).filter(([each]) => pair.startsWith(`"${each}"`))
    return key === "" ? pair : `"${key[0]}": ${key[0]} or ${key[1]}`
  })
  const sent = [
    ...(queryPairs.length > 0 ? [dictionary("query", queryPairs)] : []),
    ...(bodyType ? ["            body=body,\n"] : []),
    ...(headers.length > 0 ? [dictionary("headers", pairs(headers))] : []),
  ]
  return [
    `    async def ${name}(\n${signature.join("")}    ) -> ${models(answerType)}:`,
    ...docstring(summary, "        ").slice(0, -1),
    `        answer: ${models(answerType)} = await self.request(\n            "${httpMethod}",\n            "${path}",\n${sent.join("")}        )`,
    "        return answer",
    "",
  ].join("\n")
}

/** A type with the module of its names. */
function models(type: string): string {
  return type.replaceAll(/\b(?!Any\b|None\b|Literal\b)[A-Z]\w*/g, "models.$&")
}

function dictionary(name: string, pairs: readonly string[]): string {
  return `            ${name}={\n${pairs.map((pair) => `                ${pair},\n`).join("")}            },\n`
}

function argument(parameter: Parameter): string {
  const { schema, required } = parameter
  return `${identifier(parameter)}: ${required ? scalar(schema) : `${scalar(schema)} | None = None`}`
}

function scalar(schema: JsonSchema): string {
  if (schema.type === "array") return `${scalar(schema.items as JsonSchema)} | Sequence[${scalar(schema.items as JsonSchema)}]`
  if (schema.enum) return `Literal[${(schema.enum as unknown[]).map((each) => JSON.stringify(each)).join(", ")}]`
  return { string: "str", integer: "int", number: "float", boolean: "bool" }[String(schema.type)] ?? "str | int | float | bool"
}

function identifier({ name, in: place }: Parameter): string {
  const plain = place === "header" ? name.toLowerCase().replaceAll("-", "_") : name
  return keywords.has(plain) ? `${plain}_` : plain
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
