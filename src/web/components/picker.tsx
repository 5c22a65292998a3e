import { Combobox } from "@base-ui/react/combobox"
import { useState } from "react"
import { resourceTexts } from "../text/resources.ts"
import { Field, type FieldProps } from "./fields.tsx"
import { Icon } from "./icon.tsx"
import "./forms.css"

/** One of many, by its ID, under the name that people know. */
export interface Choice {
  ID: number
  Name: string
}

interface PickerProps extends FieldProps {
  value: Choice | null
  onValue: (value: Choice | null) => void
  /** The matches of the search text, as the server found them. */
  choices: readonly Choice[]
  onSearchText: (searchText: string) => void
  placeholder: string
}

/** Chooses one of many by typing a part of its name. The server searches. */
export function Picker({ label, hint, error, value, onValue, choices, onSearchText, placeholder }: PickerProps) {
  const [typed, setTyped] = useState(value?.Name ?? "")
  return (
    <Field label={label} hint={hint} error={error}>
      <Combobox.Root
        items={choices}
        filter={null}
        value={value}
        inputValue={typed}
        itemToStringLabel={(choice: Choice) => choice.Name}
        isItemEqualToValue={(one: Choice, other: Choice) => one.ID === other.ID}
        onValueChange={(next: Choice | null) => onValue(next)}
        onInputValueChange={(next) => {
          setTyped(next)
          onSearchText(next === value?.Name ? "" : next)
        }}
      >
        <div className="search picker">
          <Icon name="search" />
          <Combobox.Input className="input" placeholder={placeholder} maxLength={200} />
        </div>
        <Combobox.Portal>
          <Combobox.Positioner className="positioner" sideOffset={4}>
            <Combobox.Popup className="popup">
              <Combobox.Empty className="picker-empty quiet">
                {typed === "" ? resourceTexts.editing.noChoiceYet : resourceTexts.editing.noChoice}
              </Combobox.Empty>
              <Combobox.List>
                {(choice: Choice) => (
                  <Combobox.Item key={choice.ID} value={choice} className="option">
                    <span className="grow">{choice.Name}</span>
                    <Combobox.ItemIndicator>
                      <Icon name="check" />
                    </Combobox.ItemIndicator>
                  </Combobox.Item>
                )}
              </Combobox.List>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
    </Field>
  )
}
