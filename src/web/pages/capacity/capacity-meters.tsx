import { formatCpus, formatMemory } from "../../api/formats.ts"
import { ShareMeter } from "../../components/share-meter.tsx"
import { adminTexts } from "../../text/administration.ts"
import { texts } from "../../text/index.ts"
import type { CapacityAmount } from "./devices.ts"
import "./capacity.css"

/** How much of CPUs, memory and GPUs is in use. */
export function CapacityMeters({ cpus, memory, gpus }: { cpus: CapacityAmount; memory: CapacityAmount; gpus: CapacityAmount }) {
  return (
    <div className="capacity-meters">
      <AmountMeter label={texts.run.cpu} amount={cpus} format={formatCpus} />
      <AmountMeter label={texts.run.memory} amount={memory} format={(amount) => formatMemory(amount)} />
      {gpus.total > 0 && <AmountMeter label={texts.run.gpus} amount={gpus} format={String} />}
    </div>
  )
}

function AmountMeter({
  label,
  amount: { total, used },
  format,
}: {
  label: string
  amount: CapacityAmount
  format: (amount: number) => string
}) {
  const share = total === 0 ? 0 : used / total
  return (
    <div>
      <div className="row capacity-amount">
        <span className="quiet small">{label}</span>
        <span className="small">{adminTexts.capacity.used(format(used), format(total))}</span>
      </div>
      <ShareMeter share={share} label={label} />
    </div>
  )
}
