import { Select as BaseSelect } from "@base-ui/react/select"
import { Field, type FieldProps } from "./field.tsx"
import { Icon } from "./icon.tsx"

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
