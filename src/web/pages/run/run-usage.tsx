import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import type { RunningProject } from "#contract"
import { formatCpus, formatMemory } from "../../api/formats.ts"
import { currentUsageQuery, sampleIntervalMs } from "../../api/queries.ts"
import { ShareMeter } from "../../components/share-meter.tsx"
import { texts } from "../../text/index.ts"
import "./run.css"

/** Cards further down ask one after the other, so that a page of many runs asks once a second. */
const betweenCardsMs = 1_000

/** When a card of a list asks for its usage. */
export interface RefreshSlot {
  /** How many cards ask before this one; 0: it asks at once. */
  before: number
  /** How many cards ask one after the other. */
  cards: number
}

/** The present use of a run against its limits. */
export function RunUsage({ run, slot: { before, cards } }: { run: RunningProject; slot: RefreshSlot }) {
  // Runs that come and go before this one do not put it off.
  const [waitMs] = useState(before * betweenCardsMs)
  const [isDue, setDue] = useState(waitMs === 0)
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), waitMs)
    return () => clearTimeout(timer)
  }, [waitMs])
  const { data } = useQuery({
    ...currentUsageQuery(run.ID),
    enabled: isDue,
    refetchInterval: Math.max(sampleIntervalMs, cards * betweenCardsMs),
  })
  if (!data) return <div className="run-usage" />
  const { Cpus: cpus, Memory: memory, MemoryLimit: limit } = data.now
  return (
    <div className="run-usage">
      <UsageMeter label={texts.run.cpu} used={cpus} limit={run.Cpus} format={formatCpus} />
      <UsageMeter label={texts.run.memory} used={memory} limit={limit} format={(amount) => formatMemory(amount)} />
    </div>
  )
}

interface UsageMeterProps {
  label: string
  used: number | null
  limit: number | null
  format: (amount: number) => string
}

function UsageMeter({ label, used, limit, format }: UsageMeterProps) {
  if (used === null) return null
  const share = limit ? used / limit : null
  return (
    <div className="run-usage-meter">
      <span className="quiet small">{label}</span>
      <span className="small">{limit ? texts.run.of(format(used), format(limit)) : format(used)}</span>
      {share !== null && <ShareMeter share={share} label={label} />}
    </div>
  )
}
