import { Field as BaseField } from "@base-ui/react/field"
import type { ComponentProps } from "react"
import { Field, type FieldProps } from "./field.tsx"
import { Icon } from "./icon.tsx"

export { Field, type FieldProps } from "./field.tsx"
// These stand in files of their own: only pages that use them load them.
export { NumberField, type NumberFieldProps } from "./number-field.tsx"
export { Select, type SelectOption } from "./select.tsx"

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

/** A field for a text to search by. `/` moves the focus to the first on the page. */
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
