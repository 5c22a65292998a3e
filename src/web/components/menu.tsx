import { Menu as BaseMenu } from "@base-ui/react/menu"
import type { ReactElement } from "react"
import { Icon, type IconName } from "./icon.tsx"

export interface MenuItem {
  label: string
  icon?: IconName
  tone?: "danger"
  isDisabled?: boolean
  isChecked?: boolean
  onSelect: () => void
}

interface MenuProps {
  trigger: ReactElement
  groups: readonly (readonly MenuItem[])[]
  /** Shows the list at once. */
  defaultOpen?: boolean
}

/** A button with a list of actions; groups are separated by lines. */
export function Menu({ trigger, groups, defaultOpen = false }: MenuProps) {
  return (
    <BaseMenu.Root modal={false} defaultOpen={defaultOpen}>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner className="positioner" sideOffset={4} align="end">
          <BaseMenu.Popup className="popup">
            {groups.map((items, i) => (
              <BaseMenu.Group key={items[0]?.label ?? i}>
                {i > 0 && <BaseMenu.Separator className="option-separator" />}
                {items.map((item) => (
                  <BaseMenu.Item
                    key={item.label}
                    className="option"
                    data-tone={item.tone}
                    disabled={item.isDisabled ?? false}
                    onClick={item.onSelect}
                  >
                    {item.icon && <Icon name={item.icon} />}
                    <span className="grow">{item.label}</span>
                    {item.isChecked && <Icon name="check" />}
                  </BaseMenu.Item>
                ))}
              </BaseMenu.Group>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}
