import { type ReactNode, useId } from "react"
import "./forms.css"

interface CheckboxProps {
  label: string
  hint?: ReactNode
  isChecked: boolean
  onChecked: (isChecked: boolean) => void
  isDisabled?: boolean
}

/** A choice of yes or no. */
export function Checkbox({ label, hint, isChecked, onChecked, isDisabled = false }: CheckboxProps) {
  const id = useId()
  const [labelId, hintId] = [`${id}-label`, `${id}-hint`]
  return (
    <label className="checkbox">
      <input
        type="checkbox"
        checked={isChecked}
        disabled={isDisabled}
        onChange={(event) => onChecked(event.target.checked)}
        aria-labelledby={labelId}
        {...(hint ? { "aria-describedby": hintId } : {})}
      />
      <span className="grow">
        <span id={labelId}>{label}</span>
        {hint && (
          <span className="field-hint" id={hintId}>
            {hint}
          </span>
        )}
      </span>
    </label>
  )
}
