// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { at, faults } from "./mutant.ts"

const formats = ["src/contract/formats.test.ts"]
const contract = ["src/contract/contract.test.ts"]
const writing = ["test/api/writing.test.ts"]
const reading = ["test/api/reading.test.ts"]
const hostile = ["test/api/hostile.test.ts"]

/** Rules for bodies and queries. */
export const contracts = [
  ...faults("src/contract/fields/body.ts", contract, [
    ["a body sets fields that only the service may set", at("parseBody", '|| field.write === "never"'), ""],
    ["inherited members of a body count", at("parseBody", "!Object.hasOwn(object, name)) continue"), "!(name in object)) continue"],
    ["POST accepts a body without its required fields", at("parseNew", 'field.write === "required"'), "false"],
  ]),
  ...faults("src/contract/fields/field.ts", contract, [
    ["an error message repeats a value of any length", at("describeValue", "return shown.length > 60 ?"), "return shown.length > 60_000 ?"],
  ]),
  ...faults("src/contract/fields/text.ts", writing, [
    ["half of a surrogate pair is stored", at("checkUnicode", "!value.isWellFormed()"), "false"],
    ["control characters are stored", at("checkPlainText", "at <"), "at < 0 || at >"],
    ["a text may be a character too long", at("checkLength", "if (length > max) throw tooLong"), "if (length > max + 1) throw tooLong"],
    ["a length is counted in UTF-16 units", at("checkLength", "for (const _ of value) length += 1"), "length = value.length"],
    ["required fields may be blank", at("fieldOf.parse", 'if (filled && value.trim() === "") throw'), "if (false) throw"],
  ]),
  ...faults("src/contract/formats/names.ts", writing, [
    ["characters that reverse text are stored in names", at("displayNameError", "/\\p{Bidi_Control}/u.test(text)"), "false"],
  ]),
  ...faults("src/contract/fields/scalars.ts", writing, [
    [
      "a number stands for a boolean",
      at("boolean.parse", 'if (typeof value !== "boolean") throw'),
      'if (typeof value !== "boolean" && typeof value !== "number") throw',
    ],
  ]),
  ...faults("src/contract/fields/field.ts", writing, [["a list counts as an object", at("parseObject", "|| Array.isArray(value)"), ""]]),
  ...faults("src/contract/fields/scalars.ts", hostile, [
    ["a fraction is a whole number", at("integer.check", "!Number.isInteger(value) ||"), "!Number.isFinite(value) ||"],
    ["an ID may be greater than JSON can carry", at("integer.check", "value < min || value > max) throw"), "value < min) throw"],
  ]),
  ...faults(
    "src/contract/query.ts",
    [...contract, ...reading],
    [
      ["an unknown parameter is ignored", at("parseQuery", "throw unknownParamError(name, Object.keys(params))"), "continue"],
      ["the last of two parameters counts", at("parseQuery", "else if (name in result) throw"), "else if (name in params && false) throw"],
      ["no similar name is suggested", at("nearestName", "Math.max(2, Math.floor(word.length / 3)) + 1"), "0"],
      ["page 0 is a page", at("positive.parse", "value >= 1 && value < limit"), "value >= 0 && value < limit"],
      ["a page may be beyond 2^31", at("positive.parse", "value >= 1 && value < limit"), "value >= 1"],
      ["IsPublish accepts any number", at("zeroOne.parse", 'if (text !== "0" && text !== "1") throw'), "if (!/^.$/.test(text)) throw"],
      ["a list sorts by any field", at("sortParam.parse", "if (!names.includes(by)) throw"), "if (false) throw"],
    ],
  ),
  ...faults("src/contract/formats/oci-reference.ts", formats, [
    ["an image reference may have capitals in its path", at("pathPart", "^[a-z0-9]+"), "^[a-zA-Z0-9]+"],
    ["a digest may be short", at("isDigest", "/^sha256:[a-f0-9]{64}$/.test(text)"), "/^sha256:[a-f0-9]{32,64}$/.test(text)"],
  ]),
  ...faults("src/contract/formats/command.ts", formats, [
    ["a backslash at the end of a command is dropped", at("shellWords", "i >= text.length"), "false"],
    [
      "an unknown placeholder stays in a command",
      at("checkPlaceholders", 'includes(name ?? "")) {'),
      'includes(name ?? "") && name === "x") {',
    ],
    ["an empty word in quotes is lost", at("shellWords", " !== undefined) words.push(word)\n      "), ") words.push(word)\n      "],
  ]),
  ...faults("src/contract/formats/env.ts", formats, [
    ["a # within a value begins a comment", at("withoutComment", "value.search(/\\s#/)"), "value.search(/#/)"],
    ["the name of a variable may begin with a digit", at("keyPattern", "^[A-Za-z_]"), "^[A-Za-z0-9_]"],
  ]),
  ...faults(
    "src/contract/formats/env.ts",
    ["src/contract/linear.test.ts"],
    [["a comment in Env is scanned for from each # on", at("withoutComment"), 'return value.replace(/\\s#.*$/, "").trim()']],
  ),
  ...faults("src/contract/formats/names.ts", formats, [
    ["a name may hold ..", at("accountNameError", ') && !text.includes(".."'), ""],
    ["a port may be greater than 65,535", at("parsePort", "match && port <= 65535"), "match && port <= 99999"],
  ]),
  ...faults("src/contract/formats/paths.ts", formats, [
    ["a path may contain ..", at("absolutePathError", ') || names.includes(".."'), ""],
    ["something is mounted over a directory below /etc", at("mountPathError", "|| path.startsWith(`${system}/`)"), ""],
    ["a dataset's directory may be that of all homes", at("accessInfoError", 'path === "/" || path === "/users"'), 'path === "/"'],
    [
      "two datasets are mounted at the same path",
      at("freeMountPath", "for (let n = 2; taken.has(path); n += 1)"),
      "for (let n = 2; false; n += 1)",
    ],
  ]),
  ...faults("src/contract/openapi.ts", contract, [
    ["the description omits that one of several fields is required", at("bodySchema", "(allOf.length > 0 ? { allOf } : {})"), "{}"],
    [
      "the description declares 412 for operations without preconditions",
      at("failures", 'if (endpointHeaders(endpoint).some(({ name }) => name === "If-Match"))'),
      "",
    ],
  ]),
  ...faults("src/client/client.ts", reading, [
    ["a list with one ID is requested as a single object", at("queryOf", "{ page: 1, ...query }"), "query"],
  ]),
  ...faults("src/contract/reference.ts", contract, [
    ["the reference omits that a parameter is required", at("entryOf", 'required ? "required" : ""'), '""'],
  ]),
]
