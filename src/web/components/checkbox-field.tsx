import { type ReactNode, useId } from "react"

/** A choice of yes or no. */
export function CheckboxField({
  label,
  hint,
  value,
  onValue,
}: {
  label: string
  hint?: ReactNode
  value: boolean
  onValue: (value: boolean) => void
}) {
  const hintId = useId()
  return (
    <div className="checkbox-field">
      <label className="row">
        <input
          type="checkbox"
          checked={value}
          onChange={(event) => onValue(event.target.checked)}
          aria-describedby={hint ? hintId : undefined}
        />
        {label}
      </label>
      {hint && (
        <p className="field-hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  )
}
