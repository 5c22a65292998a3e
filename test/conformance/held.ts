import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Document, documents, type Sentence, sentencesOf } from "./sentences.ts"
import { conformance, leads } from "./table.ts"

/** A sentence and what holds it. */
export interface Held {
  sentence: Sentence
  tests: readonly string[]
}

/**
 * Every sentence with its tests. Throws, in words, on a sentence without an entry and on an entry
 * without a sentence.
 */
export function heldSentences(): Held[] {
  return documents.flatMap((document) => holding(document))
}

function holding(document: Document): Held[] {
  const sentences = sentencesOf(document)
  const entries = conformance[document].map((entry) => ({ entry, used: false }))
  const held = sentences.map((sentence) => {
    const whole = entries.find(({ entry: [says] }) => sentence.text.startsWith(says))
    const found = whole ?? entries.find(({ entry: [says] }) => sentence.isRow && says === `rows of ${sentence.section}`)
    if (!found) throw new Error(`No entry of the table holds this sentence of ${document} (${sentence.section}): ${sentence.text}`)
    found.used = true
    return { sentence, tests: found.entry.slice(1) }
  })
  const idle = entries.filter(({ used }) => !used).map(({ entry: [says] }) => says)
  if (idle.length > 0) throw new Error(`These entries hold no sentence of ${document}: ${idle.join("; ")}`)
  return held
}

export function isTest(name: string): boolean {
  return name !== leads && !name.startsWith("later: ")
}

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The names of all tests, with the file of each. */
export function testNames(): Map<string, string> {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z", "*.ts"], { cwd: root, encoding: "utf8" })
  const files = listed.split("\0").filter((path) => /\.test\.ts$|\/cases\//.test(path) && existsSync(root + path))
  const names = new Map<string, string>()
  for (const path of files) {
    for (const [, name] of readFileSync(root + path, "utf8").matchAll(/\b(?:test|it)\(\s*"((?:[^"\\]|\\.)*)"/g)) names.set(name ?? "", path)
  }
  return names
}
