import { type Bound, boundSections } from "#contract"

/** The page that lists every bound, made from the contract's table. */
export function limitsPage(notice: string): string {
  const sections = boundSections
    .filter(({ bounds }) => Object.keys(bounds).length > 0)
    .map(({ title, bounds }) => `## ${title}\n\n${head}\n${Object.values(bounds).map(row).join("\n")}\n`)
  return `# Limits

One person, or a program that nobody knows, must not be able to stop everybody else. So everything
that people control has a bound, per person where a person is known, else per address.

${notice}

Bounds with a setting can be changed by it; the others are constants. The limits that an
administrator gives to people and groups stand in [limits.md](../how-to/limits.md) of the how-to
pages. Each of [several processes](../how-to/processes.md) counts connections, rates and work at a
time by itself; runs, stored things and wrong passwords count in all of them together.

${sections.join("\n")}`
}

const head = "| What | Bound | Per | Beyond it | Setting |\n|---|---|---|---|---|"

function row({ what, value, unit, per, beyond, setting }: Bound): string {
  return `| ${[what, amount(value, unit), per, beyond, setting === undefined ? "" : `\`${setting}\``].join(" | ")} |`
}

function amount(value: number, unit: Bound["unit"]): string {
  if (unit === "bytes") return bytes(value)
  if (unit === "ms") return duration(value)
  if (unit === "count") return grouped(value)
  if (unit === "percent") return `${value} %`
  return `${grouped(value)} ${unit}`
}

function bytes(value: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"]
  let shown = value
  let i = 0
  for (; i < units.length - 1 && shown >= 1024 && shown % 1024 === 0; i += 1) shown /= 1024
  return `${grouped(shown)} ${units[i]}`
}

function duration(ms: number): string {
  for (const [size, name] of [
    [86_400_000, "days"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ] as const) {
    if (ms >= size && ms % size === 0) return `${ms / size} ${name}`
  }
  return `${grouped(ms)} ms`
}

function grouped(value: number): string {
  return value.toLocaleString("en")
}
