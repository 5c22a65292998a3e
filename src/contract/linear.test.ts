import { type Parser, repeated, testLinear } from "../../test/fixtures/linear.ts"
import { bounds } from "./bounds/index.ts"
import { timestamp } from "./fields/scalars.ts"
import { checkPlainText, text } from "./fields/text.ts"
import { parseCommand } from "./formats/command.ts"
import { parseEnv } from "./formats/env.ts"
import { accountNameError, portError } from "./formats/names.ts"
import { normalizeOciReference } from "./formats/oci-reference.ts"
import { accessInfoError, mountPathError, slugify } from "./formats/paths.ts"
import { nearestName, parseQuery, wordsParam } from "./query.ts"

const { texts, http } = bounds
const anyText = text({ max: texts.docBytes.value, write: "required" })
const list = Array.from({ length: 30 }, (_, i) => `Parameter${i}`)

const parsers: Parser[] = [
  {
    name: "Env as lines",
    parse: parseEnv,
    size: texts.envCharacters.value,
    shapes: [
      repeated("\n", { start: 'A="' }),
      repeated("\\\n", { start: 'A="' }),
      repeated('\\"', { start: 'A="' }),
      repeated("'\n", { start: 'A="' }),
      repeated('A="\n"\n'),
      repeated(" #", { start: "A=b", end: "\u2028x" }),
      repeated("export ", { end: "A=1" }),
      repeated(" ", { start: "export", end: "x" }),
      repeated("A=1\n"),
      repeated("\r\n"),
    ],
  },
  {
    name: "Env as JSON",
    parse: parseEnv,
    size: texts.envCharacters.value,
    shapes: [repeated('"a":"",', { start: "{", end: '"b":""}' }), repeated("[", { start: '{"a":' }), repeated(" ", { end: "{" })],
  },
  {
    name: "Command",
    parse: parseCommand,
    size: texts.commandCharacters.value,
    shapes: [
      repeated("'"),
      repeated("a "),
      repeated('\\"', { start: '"' }),
      repeated("{a"),
      repeated("$", { end: "{port}" }),
      repeated("{port}"),
      repeated('"a",', { start: "[", end: '"b"]' }),
    ],
  },
  {
    name: "an image's reference",
    parse: normalizeOciReference,
    size: texts.textCharacters.value,
    shapes: [
      repeated("a-", { end: "!" }),
      repeated("-", { start: "a", end: "/b" }),
      repeated("a.", { end: "!/b" }),
      repeated("a__", { end: "!" }),
      repeated("a+", { start: "b@", end: "!" }),
      repeated("/"),
      repeated(":"),
    ],
  },
  { name: "a port", parse: portError, size: 16, shapes: [repeated("1")] },
  { name: "an account's name", parse: accountNameError, size: 65_536, shapes: [repeated("a"), repeated(".")] },
  {
    name: "a mount place",
    parse: mountPathError,
    size: texts.pathCharacters.value,
    shapes: [repeated("/"), repeated("/a"), repeated("/."), repeated("é", { start: "/" })],
  },
  { name: "AccessInfo", parse: accessInfoError, size: texts.pathCharacters.value, shapes: [repeated("/"), repeated("/a")] },
  {
    name: "a directory's name made from a name",
    parse: (name) => slugify(name, "x"),
    size: 8_192,
    shapes: [repeated("-", { start: "a", end: "a" }), repeated("-."), repeated("a\u0300"), repeated("\ufdfa")],
  },
  {
    name: "a text",
    parse: (value) => anyText.parse(value, "Doc"),
    size: texts.docBytes.value,
    shapes: [repeated("a"), repeated(" "), repeated("\u{1F600}"), repeated("\n", { end: "\u0001" })],
  },
  {
    name: "control characters",
    parse: (value) => checkPlainText(value, "Doc"),
    size: texts.docBytes.value,
    shapes: [repeated("a", { end: "\u0001" })],
  },
  {
    name: "a time",
    parse: (value) => timestamp({ description: "" }).parse(value, "At"),
    size: 65_536,
    shapes: [repeated("0"), repeated("2026-01-01T")],
  },
  {
    name: "a query",
    parse: (query) => parseQuery({ q: wordsParam }, query),
    size: http.targetBytes.value,
    shapes: [
      repeated("&"),
      repeated("q"),
      repeated("="),
      repeated("%41", { start: "q=" }),
      repeated("+", { start: "q=" }),
      repeated("%", { start: "q=" }),
    ],
  },
  {
    name: "the nearest known parameter",
    parse: (word) => nearestName(word, list),
    size: 65_536,
    shapes: [repeated("p"), repeated("Parameter")],
  },
]
testLinear(parsers)
