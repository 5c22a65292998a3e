import { Field as BaseField } from "@base-ui/react/field"
import type { ReactNode } from "react"

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
