import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"

/** A command block of a page, with the output block below it if the page has one. */
export interface Step {
  line: number
  commands: string
  answer: unknown
}

/**
 * The `sh` and `python` blocks of a page in order. A `json` block directly below one is its output.
 */
export async function stepsOf(file: URL): Promise<Step[]> {
  const steps: Step[] = []
  const text = await readFile(file, "utf8")
  for (const match of text.matchAll(/^```(sh|python|json)\n([\s\S]*?)^```$/gm)) {
    const [, kind, block = ""] = match
    const last = steps.at(-1)
    const commands = kind === "python" ? `python - <<'PYTHON'\n${block}PYTHON\n` : block
    if (kind !== "json") steps.push({ line: text.slice(0, match.index).split("\n").length, commands, answer: undefined })
    else if (last) last.answer = JSON.parse(block)
  }
  return steps
}

/**
 * Runs all steps in one shell, as a reader would, and returns the output of each. Stops at the
 * first command that fails.
 */
export async function runSteps(steps: readonly Step[], options: { cwd: string; env: Readonly<Record<string, string>> }): Promise<string[]> {
  const mark = "=== step ==="
  const script = steps.map((step) => `echo; echo '${mark}'\n${step.commands}`).join("\n")
  const env = { ...process.env, ...options.env }
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], { cwd: options.cwd, env, maxBuffer: 1 << 24 })
  return stdout.split(`\n${mark}\n`).slice(1)
}

/**
 * The differences between an output and the page: the path and both values. `…` matches anything.
 */
export function differences(shown: unknown, received: unknown, at = "$"): string[] {
  if (typeof shown === "string" && shown.includes("…")) return received === undefined ? [`${at} is missing`] : []
  if (Array.isArray(shown))
    return Array.isArray(received) ? shown.flatMap((each, i) => differences(each, received[i], `${at}[${i}]`)) : [`${at} is no list`]
  if (typeof shown === "object" && shown !== null) {
    if (typeof received !== "object" || received === null) return [`${at} is no object`]
    return Object.entries(shown).flatMap(([key, value]) => differences(value, (received as Record<string, unknown>)[key], `${at}.${key}`))
  }
  return shown === received ? [] : [`${at} is ${JSON.stringify(received)}, the page shows ${JSON.stringify(shown)}`]
}
