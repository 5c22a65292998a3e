import { readdirSync, readFileSync } from "node:fs"
import { type JsonSchema, openApi } from "#contract"
import { generatedNotice, operationsClass } from "./operations.ts"
import { className, PythonTypes } from "./types.ts"

/** The package's sources, with a slash at the end. */
export const pythonSources = new URL("../../../clients/python/src/quayside/", import.meta.url)

/**
 * The files of the Python package that are made: types and operations from the API's description,
 * and the synchronous client from the asynchronous one.
 */
export function pythonFiles(): Readonly<Record<string, string>> {
  const { paths, components } = openApi({ version: "", baseUrl: "", memoryUnit: "MiB" }) as {
    paths: Parameters<typeof operationsClass>[0]
    components: { schemas: Record<string, JsonSchema> }
  }
  const types = new PythonTypes(Object.keys(components.schemas))
  const aliases = Object.entries(components.schemas).flatMap(([name, schema]) => {
    const type = types.typeOf(schema, className(name))
    return type === className(name) ? [] : [`${name}: TypeAlias = ${type}\n`]
  })
  const operations = operationsClass(paths, types)
  const written = readdirSync(new URL("_async/", pythonSources)).filter((name) => name.endsWith(".py") && name !== "operations.py")
  const asynchronous = written.map((name) => [name, readFileSync(new URL(`_async/${name}`, pythonSources), "utf8")] as const)
  const synchronous = [...asynchronous, ["operations.py", operations] as const].map(([name, text]) => [`_sync/${name}`, toSync(text)])
  return { "models.py": typesModule(types, aliases), "_async/operations.py": operations, ...Object.fromEntries(synchronous) }
}

function typesModule(types: PythonTypes, aliases: readonly string[]): string {
  return `${generatedNotice}"""The structures of the API: bodies and answers, by the API's own field names."""

from __future__ import annotations

from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    """A part of a list. \`page\` counts from 1."""

    data: list[T]
    page: int
    pageCount: int
    pageSize: int


${types.classes}

${aliases.join("")}`
}

const syncNotice = "# Made by script/python-client from the asynchronous module; a test fails when it is not current.\n"

/** Names of asynchronous Python, and their synchronous counterparts. */
const counterparts: readonly (readonly [RegExp, string])[] = [
  [/\basync (def|for|with) /g, "$1 "],
  [/\bawait /g, ""],
  [/\bAwaitable\[(models\.Page\[T\])\]/g, "$1"],
  [/\bAwaitable, /g, ""],
  [/\bAsync(Client|Operations|Run|Iterator)\b/g, "$1"],
  [/\b__a(enter|exit)__\b/g, "__$1__"],
  [/\ba(close|iter_lines|read)\b/g, "$1"],
  [/\basynccontextmanager\b/g, "contextmanager"],
  [/\bwebsockets\.asyncio\b/g, "websockets.sync"],
  [/\basyncio\.sleep\b/g, "time.sleep"],
  [/^import asyncio$/gm, "import time"],
  [/\bAn asynchronous\b/g, "A synchronous"],
  [/\basynchronous\b/g, "synchronous"],
]

function toSync(text: string): string {
  const changed = counterparts.reduce((so, [from, to]) => so.replaceAll(from, to), text)
  return text.startsWith(generatedNotice) || text === "" ? changed : `${syncNotice}${changed}`
}
