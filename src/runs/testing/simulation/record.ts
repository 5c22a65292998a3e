/** The events of one seed, in words, and the count of each move and fault. */
export class Record {
  readonly lines: string[] = []
  readonly moves = new Map<string, number>()
  readonly faults = new Map<string, number>()
  /** Grows with everything that happens. */
  activity = 0
  /** The prefix of the lines: step and virtual time. */
  at = ""

  line(text: string): void {
    this.activity += 1
    this.lines.push(`${this.at} ${text}`)
  }

  fault(fault: string, where = ""): void {
    increment(this.faults, fault)
    this.line(`    ! ${fault}${where === "" ? "" : `: ${where}`}`)
  }

  move(from: string, to: string, why: string): void {
    increment(this.moves, `${from} → ${to}`)
    this.line(`    ${why}: ${from} → ${to}`)
  }
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** Adds the second counts to the first. */
export function addCounts(sum: Map<string, number>, counts: Iterable<readonly [string, number]>): void {
  for (const [name, count] of counts) sum.set(name, (sum.get(name) ?? 0) + count)
}
