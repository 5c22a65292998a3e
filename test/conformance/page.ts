import { relative } from "node:path"
import { type Held, heldSentences, isTest, testNames } from "./held.ts"
import { leads } from "./table.ts"

const titles = { "http-api": "The interface document", README: "What it leaves open", beyond: "What Quayside adds" } as const

/** `docs/reference/conformance.md`: for each sentence the tests that hold it. */
export function conformancePage(): string {
  const held = heldSentences()
  const files = testNames()
  const parts = Object.entries(titles).map(([document, title]) => {
    const own = held.filter(({ sentence }) => sentence.document === document)
    return `## ${title}\n\n[${document}.md](interface/${document}.md)\n\n| Sentence | Held by |\n|---|---|\n${own.map((each) => row(each, files)).join("\n")}\n`
  })
  const open = held.filter(({ tests }) => tests.some((name) => name.startsWith("later: "))).length
  const leading = held.filter(({ tests }) => tests[0] === leads).length
  return `# Conformance

Every sentence of the [interface documents](interface/README.md), and the tests that hold it. This page is made by \`script/reference\`; a test fails when it is not current.
${held.length} sentences and rows; ${leading} of them only lead to others or name what is left open; ${open} speak, at least in part, of what comes with a later step.

${parts.join("\n")}`
}

function row({ sentence, tests }: Held, files: ReadonlyMap<string, string>): string {
  const cells = tests.map((name) =>
    isTest(name) ? `[${shown(name)}](${relative("docs/reference", files.get(name) ?? "")})` : `*${shown(name)}*`,
  )
  return `| ${shown(sentence.text)} | ${cells.join("<br>")} |`
}

function shown(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;")
}
