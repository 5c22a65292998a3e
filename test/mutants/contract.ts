// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what stands in other files is plain text here

import { faults } from "./mutant.ts"

const formats = ["src/contract/formats.test.ts"]
const contract = ["src/contract/contract.test.ts"]
const writing = ["test/api/writing.test.ts"]
const reading = ["test/api/reading.test.ts"]
const hostile = ["test/api/hostile.test.ts"]

/** What bodies and queries may hold. */
export const contracts = [
  ...faults("src/contract/fields/body.ts", contract, [
    [
      "a body sets fields that the service keeps",
      'if (!field || field.write === "never" || !Object.hasOwn(object',
      "if (!field || !Object.hasOwn(object",
    ],
    ["inherited members of a body count", "!Object.hasOwn(object, name)) continue", "!(name in object)) continue"],
    [
      "POST accepts a body without its required fields",
      'if (field.write === "required") throw new Failure',
      "if (false) throw new Failure",
    ],
  ]),
  ...faults("src/contract/fields/field.ts", contract, [
    ["an error text repeats all that came", "return shown.length > 60 ?", "return shown.length > 60_000 ?"],
  ]),
  ...faults("src/contract/fields/text.ts", writing, [
    ["half of a surrogate pair is stored", "if (!value.isWellFormed()) throw invalid(field", "if (false) throw invalid(field"],
    ["control characters are stored", "if (at < 0) return\n", "if (at < 0 || at > 0) return\n"],
    ["a text may be a character too long", "if (length > max) throw invalid", "if (length > max + 1) throw invalid"],
    ["a length is counted in UTF-16 units", "for (const _ of value) length += 1", "length = value.length"],
    ["required fields may be blank", 'if (filled && value.trim() === "") throw', "if (false) throw"],
  ]),
  ...faults("src/contract/fields/scalars.ts", writing, [
    [
      "a number stands for a boolean",
      'if (typeof value !== "boolean") throw',
      'if (typeof value !== "boolean" && typeof value !== "number") throw',
    ],
  ]),
  ...faults("src/contract/fields/field.ts", writing, [
    ["a list counts as an object", "value === null || Array.isArray(value)) {", "value === null) {"],
  ]),
  ...faults("src/contract/fields/scalars.ts", hostile, [
    ["a fraction is a whole number", "!Number.isInteger(value) ||", "!Number.isFinite(value) ||"],
    ["an ID may be greater than JSON can carry", "value < min || value > max) throw", "value < min) throw"],
  ]),
  ...faults(
    "src/contract/query.ts",
    [...contract, ...reading],
    [
      ["an unknown parameter is passed over", "if (!param) throw unknownParamError(name, Object.keys(params))", "if (!param) continue"],
      ["the last of two parameters counts", "else if (name in result) throw", "else if (name in params && false) throw"],
      ["no similar name is suggested", "let least = Math.max(2, Math.floor(word.length / 3)) + 1", "let least = 0"],
      ["page 0 is a page", "value >= 1 && value < limit", "value >= 0 && value < limit"],
      ["a page may be beyond 2^31", "value >= 1 && value < limit", "value >= 1"],
      ["IsPublish takes any number", 'if (text !== "0" && text !== "1") throw', "if (!/^.$/.test(text)) throw"],
      ["a list sorts by any field", "if (!names.includes(by)) throw", "if (false) throw"],
    ],
  ),
  ...faults("src/contract/formats/oci-reference.ts", formats, [
    ["an image reference may have capitals in its path", "const pathPart = /^[a-z0-9]+", "const pathPart = /^[a-zA-Z0-9]+"],
    ["a digest may be short", "/^sha256:[a-f0-9]{64}$/.test(text)", "/^sha256:[a-f0-9]{32,64}$/.test(text)"],
  ]),
  ...faults("src/contract/formats/command.ts", formats, [
    [
      "a backslash at the end of a command is dropped",
      'if (i >= text.length) throw new CommandError("a line that',
      'if (false) throw new CommandError("a line that',
    ],
    ["an unknown placeholder stays in a command", 'includes(name ?? "")) {', 'includes(name ?? "") && name === "x") {'],
    [
      "an empty word in quotes is lost",
      "if (word !== undefined) words.push(word)\n      word = undefined",
      "if (word) words.push(word)\n      word = undefined",
    ],
  ]),
  ...faults("src/contract/formats/env.ts", formats, [
    ["a # within a value begins a comment", "value.search(/\\s#/)", "value.search(/#/)"],
    ["the name of a variable may begin with a digit", "const keyPattern = /^[A-Za-z_]", "const keyPattern = /^[A-Za-z0-9_]"],
  ]),
  ...faults(
    "src/contract/formats/env.ts",
    ["src/contract/linear.test.ts"],
    [
      [
        "a comment in Env is scanned for from each # on",
        "const start = value.search(/\\s#/)\n  return (start < 0 ? value : value.slice(0, start)).trim()",
        'return value.replace(/\\s#.*$/, "").trim()',
      ],
    ],
  ),
  ...faults("src/contract/formats/names.ts", formats, [
    ["a name may hold ..", 'namePattern.test(text) && !text.includes("..")', "namePattern.test(text)"],
    ["a port may be greater than 65,535", "match && port <= 65535", "match && port <= 99999"],
  ]),
  ...faults("src/contract/formats/paths.ts", formats, [
    ["a path may climb with ..", 'names.includes(".") || names.includes("..")', 'names.includes(".")'],
    ["something is mounted over a directory below /etc", "path === system || path.startsWith(`${system}/`)", "path === system"],
    ["a dataset's directory may be that of all homes", 'path === "/" || path === "/users"', 'path === "/"'],
    ["two datasets get the same place", "for (let n = 2; taken.has(path); n += 1)", "for (let n = 2; false; n += 1)"],
  ]),
  ...faults("src/contract/openapi.ts", contract, [
    ["the description does not say where one of several fields is needed", "(allOf.length > 0 ? { allOf } : {})", "{}"],
    [
      "the description promises 412 where nothing is compared",
      'if (endpointHeaders(endpoint).some(({ name }) => name === "If-Match")) ',
      "",
    ],
  ]),
  ...faults("src/client/index.ts", reading, [["a list of one ID is asked for as one object", "{ page: 1, ...query }", "query"]]),
  ...faults("src/contract/reference.ts", contract, [
    ["the reference does not say which parameter is needed", 'required ? "required" : ""', '""'],
  ]),
]
