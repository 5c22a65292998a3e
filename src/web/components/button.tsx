import type { ComponentProps, ReactNode } from "react"
import { Icon, type IconName } from "./icon.tsx"

interface Look {
  kind?: "default" | "primary" | "danger" | "plain"
  size?: "default" | "small"
  icon?: IconName
}

/** Attributes of everything that looks like a button, links included. */
export function buttonAttributes({ kind = "default", size = "default" }: Look, isIconOnly = false) {
  return { className: "button", "data-kind": kind, "data-size": size, ...(isIconOnly ? { "data-shape": "icon" } : {}) }
}

export type ButtonProps = Omit<ComponentProps<"button">, "className"> & Look & { isBusy?: boolean }

export function Button({ kind, size, icon, isBusy = false, children, disabled, type = "button", ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} disabled={disabled || isBusy} {...buttonAttributes({ ...look(kind, size) })}>
      <ButtonContent icon={icon} isBusy={isBusy}>
        {children}
      </ButtonContent>
    </button>
  )
}

function look(kind: Look["kind"], size: Look["size"]): Look {
  return { ...(kind ? { kind } : {}), ...(size ? { size } : {}) }
}

function ButtonContent({ icon, isBusy, children }: { icon: IconName | undefined; isBusy?: boolean; children?: ReactNode }) {
  return (
    <>
      {isBusy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </>
  )
}

/** A button that shows an icon alone; its label is read aloud and shown as a title. */
export function IconButton({
  label,
  icon,
  kind = "plain",
  size,
  ...rest
}: Omit<ButtonProps, "children" | "icon"> & { label: string; icon: IconName }) {
  return (
    <button type="button" aria-label={label} title={label} {...rest} {...buttonAttributes(look(kind, size), true)}>
      <Icon name={icon} />
    </button>
  )
}

/** A link to another server page or origin that looks like a button. */
export function LinkButton({ kind, size, icon, children, ...rest }: Omit<ComponentProps<"a">, "className"> & Look) {
  return (
    <a {...rest} {...buttonAttributes(look(kind, size))}>
      <ButtonContent icon={icon}>{children}</ButtonContent>
    </a>
  )
}
