import { Field as BaseField } from "@base-ui/react/field"
import { NumberField as BaseNumber } from "@base-ui/react/number-field"
import { Select as BaseSelect } from "@base-ui/react/select"
import type { ComponentProps, ReactNode } from "react"
import { texts } from "../text/index.ts"
import { buttonLook } from "./button.tsx"
import { Icon } from "./icon.tsx"

export interface FieldProps {
  label: string
  hint?: ReactNode
  /** The refusal of this field's value. */
  error?: string | undefined
}

/** A label, a control, a hint and an error that belong together. */
export function Field({ label, hint, error, children, name }: FieldProps & { name?: string; children: ReactNode }) {
  return (
    <BaseField.Root className="field" invalid={error !== undefined} {...(name === undefined ? {} : { name })}>
      <BaseField.Label className="field-label">{label}</BaseField.Label>
      {children}
      {hint && <BaseField.Description className="field-hint">{hint}</BaseField.Description>}
      {error !== undefined && (
        <BaseField.Error className="field-error" match={true}>
          {error}
        </BaseField.Error>
      )}
    </BaseField.Root>
  )
}

export type TextFieldProps = FieldProps &
  Omit<ComponentProps<"input">, "value" | "onChange" | "className" | "defaultValue"> & { value: string; onValue: (value: string) => void }

export function TextField({ label, hint, error, value, onValue, name, ref, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} {...(name === undefined ? {} : { name })}>
      <BaseField.Control
        className="input"
        value={value}
        onValueChange={(next) => onValue(String(next))}
        {...(ref ? { ref } : {})}
        {...rest}
      />
    </Field>
  )
}

export type TextAreaProps = FieldProps &
  Omit<ComponentProps<"textarea">, "value" | "onChange" | "className" | "defaultValue"> & {
    value: string
    onValue: (value: string) => void
  }

export function TextArea({ label, hint, error, value, onValue, ref: _ref, color: _color, ...rest }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <BaseField.Control
        render={<textarea className="input" {...rest} value={value} onChange={(event) => onValue(event.target.value)} />}
      />
    </Field>
  )
}

export interface NumberFieldProps extends FieldProps {
  /** Null: not set. */
  value: number | null
  onValue: (value: number | null) => void
  min?: number
  max?: number
  step?: number
  placeholder?: string
}

export function NumberField({ label, hint, error, value, onValue, placeholder, ...limits }: NumberFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <BaseNumber.Root value={value} onValueChange={(next) => onValue(next)} {...limits}>
        <BaseNumber.Group className="number">
          <BaseNumber.Decrement {...buttonLook({}, true)} aria-label={`${texts.common.decrease}: ${label}`}>
            <Icon name="minus" />
          </BaseNumber.Decrement>
          <BaseNumber.Input className="input" {...(placeholder === undefined ? {} : { placeholder })} />
          <BaseNumber.Increment {...buttonLook({}, true)} aria-label={`${texts.common.increase}: ${label}`}>
            <Icon name="plus" />
          </BaseNumber.Increment>
        </BaseNumber.Group>
      </BaseNumber.Root>
    </Field>
  )
}

export interface SelectOption<T extends string> {
  value: T
  label: string
}

/** Chooses one of a few. For many, use a `SearchField` with a list. */
export function Select<T extends string>({
  label,
  hint,
  error,
  value,
  onValue,
  options,
}: FieldProps & { value: T; onValue: (value: T) => void; options: readonly SelectOption<T>[] }) {
  return (
    <Field label={label} hint={hint} error={error}>
      <BaseSelect.Root items={options} value={value} onValueChange={(next) => next !== null && onValue(next as T)} modal={false}>
        <BaseSelect.Trigger className="select-trigger">
          <span className="grow truncate">
            <BaseSelect.Value />
          </span>
          <Icon name="down" />
        </BaseSelect.Trigger>
        <BaseSelect.Portal>
          <BaseSelect.Positioner className="positioner" sideOffset={4} alignItemWithTrigger={false}>
            <BaseSelect.Popup className="popup">
              <BaseSelect.List>
                {options.map((option) => (
                  <BaseSelect.Item key={option.value} value={option.value} className="option">
                    <BaseSelect.ItemText>{option.label}</BaseSelect.ItemText>
                    <BaseSelect.ItemIndicator>
                      <Icon name="check" />
                    </BaseSelect.ItemIndicator>
                  </BaseSelect.Item>
                ))}
              </BaseSelect.List>
            </BaseSelect.Popup>
          </BaseSelect.Positioner>
        </BaseSelect.Portal>
      </BaseSelect.Root>
    </Field>
  )
}

/** A field for words to search by. `/` moves the focus to the first on the page. */
export function SearchField({ label, value, onValue }: { label: string; value: string; onValue: (value: string) => void }) {
  return (
    <div className="search">
      <Icon name="search" />
      <input
        type="search"
        className="input"
        data-search=""
        aria-label={label}
        placeholder={label}
        value={value}
        maxLength={200}
        onChange={(event) => onValue(event.target.value)}
      />
    </div>
  )
}
