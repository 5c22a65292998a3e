import { NumberField as BaseNumber } from "@base-ui/react/number-field"
import { texts } from "../text/index.ts"
import { buttonAttributes } from "./button.tsx"
import { Field, type FieldProps } from "./field.tsx"
import { Icon } from "./icon.tsx"

export interface NumberFieldProps extends FieldProps {
  /** Null: not set. */
  value: number | null
  onValue: (value: number | null) => void
  min?: number
  max?: number
  /** Of the buttons, and of the amounts that may be typed; `any`: fractions too. Default: 1. */
  step?: number | "any"
  placeholder?: string
}

export function NumberField({ label, hint, error, value, onValue, placeholder, ...limits }: NumberFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <BaseNumber.Root value={value} onValueChange={(next) => onValue(next)} {...limits}>
        <BaseNumber.Group className="number">
          <BaseNumber.Decrement {...buttonAttributes({}, true)} aria-label={`${texts.common.decrease}: ${label}`}>
            <Icon name="minus" />
          </BaseNumber.Decrement>
          <BaseNumber.Input className="input" {...(placeholder === undefined ? {} : { placeholder })} />
          <BaseNumber.Increment {...buttonAttributes({}, true)} aria-label={`${texts.common.increase}: ${label}`}>
            <Icon name="plus" />
          </BaseNumber.Increment>
        </BaseNumber.Group>
      </BaseNumber.Root>
    </Field>
  )
}
