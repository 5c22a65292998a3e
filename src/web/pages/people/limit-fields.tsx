import { type LimitName, type Limits, limitNames } from "#contract"
import { NumberField, Select } from "../../components/fields.tsx"
import { adminTexts } from "../../text/administration.ts"
import { choiceOf, fromFormAmount, isDecimal, type LimitChoice, toFormAmount, withLimit } from "./limits.ts"
import "./people.css"

const { people } = adminTexts

const choicesWith = (label: string): readonly { value: LimitChoice; label: string }[] => [
  { value: "default", label },
  { value: "unlimited", label: people.unlimited },
  { value: "amount", label: people.atMost },
]

interface LimitFieldsProps {
  value: Limits
  onValue: (limits: Limits) => void
  names?: readonly LimitName[]
  /** The choice for a limit that is not set. */
  unset: (name: LimitName) => string
}

/** Sets limits: each is the default, unlimited, or an amount. */
export function LimitFields({ value, onValue, names = limitNames, unset }: LimitFieldsProps) {
  return (
    <div className="limit-fields">
      {names.map((name) => (
        <LimitField
          key={name}
          name={name}
          unset={unset(name)}
          limit={value[name]}
          onLimit={(limit) => onValue(withLimit(value, name, limit))}
        />
      ))}
    </div>
  )
}

interface LimitFieldProps {
  name: LimitName
  unset: string
  limit: number | null | undefined
  onLimit: (limit: number | null | undefined) => void
}

function LimitField({ name, unset, limit, onLimit }: LimitFieldProps) {
  const choose = (choice: LimitChoice) => onLimit({ default: undefined, unlimited: null, amount: fromFormAmount(name, 1) }[choice])
  return (
    <div className="limit-field">
      <Select label={people.limitNames[name]} value={choiceOf(limit)} onValue={choose} options={choicesWith(unset)} />
      {typeof limit === "number" && (
        <NumberField
          label={people.amount(name)}
          value={toFormAmount(name, limit)}
          onValue={(amount) => onLimit(fromFormAmount(name, amount ?? 0))}
          min={0}
          step={isDecimal(name) ? "any" : 1}
        />
      )}
    </div>
  )
}
