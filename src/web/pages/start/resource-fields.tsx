import { useQuery } from "@tanstack/react-query"
import type { Capacity } from "#contract"
import { formatCpus, formatMemory, memoryFromGiB, memoryToGiB } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { NumberField } from "../../components/fields.tsx"
import { texts } from "../../text/index.ts"

/** Amounts of a start; null: the default. `memory` is in the unit of the API. */
export interface Resources {
  cpus: number | null
  memory: number | null
  gpus: number | null
}

/** Asks for the amounts, beside what is free and what the person's limits leave. */
export function ResourceFields({ value, onValue }: { value: Resources; onValue: (value: Resources) => void }) {
  const { data: capacity } = useQuery(apiQuery("readCapacity"))
  const { start } = texts
  const hasGpus = (capacity?.nodes ?? []).some(({ Gpus }) => Gpus.total > 0)
  const gib = value.memory === null ? null : memoryToGiB(value.memory)
  return (
    <div className="resource-fields">
      <NumberField
        label={start.cpus}
        value={value.cpus}
        onValue={(cpus) => onValue({ ...value, cpus })}
        min={1}
        placeholder={capacity ? start.defaultOf(formatCpus(capacity.defaults.Cpus)) : start.default}
        hint={capacity && hintOf(capacity, "Cpus", formatCpus)}
      />
      <NumberField
        label={start.memory}
        value={gib}
        onValue={(next) => onValue({ ...value, memory: next === null ? null : memoryFromGiB(next) })}
        min={0}
        step="any"
        placeholder={capacity ? start.defaultOf(String(memoryToGiB(capacity.defaults.Memory))) : start.default}
        hint={capacity && hintOf(capacity, "Memory", (amount) => formatMemory(amount))}
      />
      {hasGpus && (
        <NumberField
          label={start.gpus}
          value={value.gpus}
          onValue={(gpus) => onValue({ ...value, gpus })}
          min={0}
          placeholder={start.none}
          hint={capacity && hintOf(capacity, "Gpus", String)}
        />
      )}
    </div>
  )
}

function hintOf({ nodes, you }: Capacity, name: "Cpus" | "Memory" | "Gpus", format: (amount: number) => string): string {
  const sum = (part: "free" | "total") => nodes.reduce((all, node) => all + node[name][part], 0)
  const free = texts.start.free(format(sum("free")), format(sum("total")))
  const left = you[name]
  return left === null ? free : `${free}; ${texts.start.youMay(format(left))}`
}
