// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of other files is plain text here

import { faults } from "./mutant.ts"

const amplification = ["src/files/requests/amplification.integration.test.ts"]
const budget = ["src/files/properties/property-budget.test.ts"]

/** Bounds of what a request at the files address costs, and what its answers tell. */
export const webdav = [
  ...faults("src/files/properties/propfind-request.ts", amplification, [
    ["a PROPFIND names as many properties as it likes", "if (count > propertyNames.value) throw", "if (count < 0) throw"],
  ]),
  ...faults("src/files/xml/xml.ts", amplification, [
    ["a namespace of an XML body has any length", "if (ns.length > namespaceCharacters.value)", "if (ns.length < 0)"],
    ["a namespace is declared with each element again", "textOf(one, prefixes))).join", "textOf(one, prefixes, declarations))).join"],
  ]),
  ...faults("src/files/methods/propfind.ts", amplification, [
    ["a listing has any number of bytes", "if (bytes > listingBytes.value", "if (bytes < 0 && bytes > listingBytes.value"],
  ]),
  ...faults("src/files/locks/lock-xml.ts", amplification, [
    ["each entry below a lock tells who holds it", 'lock.path === path ? lock.owner : ""', "lock.owner"],
  ]),
  ...faults("src/files/requests/yielder.ts", amplification, [
    ["one person's long work delays everybody's", "this.#waiting.delete(who)\n    if (rest.length > 0)", "if (rest.length > 0)"],
  ]),
  ...faults("src/files/requests/request-limiter.ts", amplification, [
    ["one person copies any number of trees at once", "if (running < maxCopies)", "if (running >= 0)"],
  ]),
  ...faults("src/files/properties/property-table.ts", budget, [
    ["one person's stored properties take everybody's room", "? `/users/${second}` :", '? "/users" :'],
  ]),
  ...faults("src/files/properties/dead-properties.ts", budget, [
    [
      "on a full disk no property is removed",
      "if (onlyRemoves) this.#applyEvenIfFull(entries)",
      "if (false) this.#applyEvenIfFull(entries)",
    ],
    ["a copy's properties have no bound", "this.#applyEvenIfFull(fits ? [...forgets, ", "this.#applyEvenIfFull(true ? [...forgets, "],
  ]),
  ...faults(
    "src/files/locks/lock-check.ts",
    ["src/files/access/hidden-resources.test.ts"],
    [
      [
        "a condition tells whether a guess about a hidden file is right",
        "request.readableIfPaths.has(joinPath(names))",
        "names.length > 0",
      ],
    ],
  ),
]
