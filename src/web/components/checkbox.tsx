import type { ReactNode } from "react"
import "./forms.css"

interface CheckboxProps {
  label: string
  hint?: ReactNode
  isChecked: boolean
  onChecked: (isChecked: boolean) => void
  isDisabled?: boolean
}

export function Checkbox({ label, hint, isChecked, onChecked, isDisabled = false }: CheckboxProps) {
  return (
    <label className="checkbox">
      <input type="checkbox" checked={isChecked} disabled={isDisabled} onChange={(event) => onChecked(event.target.checked)} />
      <span className="grow">
        {label}
        {hint && <span className="field-hint">{hint}</span>}
      </span>
    </label>
  )
}
