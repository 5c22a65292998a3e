import { ConfirmDialog } from "./overlays.tsx"

export interface Confirmation {
  title: string
  text: string
  /** The label of the button that confirms. */
  action: string
  onConfirm: () => void
}

interface ConfirmationsProps<Name extends string> {
  confirmations: Readonly<Record<Name, Confirmation>>
  /** The confirmation that is open. */
  shown: Name | undefined
  onClose: () => void
}

/** The confirmations before actions, at most one of them open. */
export function Confirmations<Name extends string>({ confirmations, shown, onClose }: ConfirmationsProps<Name>) {
  return Object.entries<Confirmation>(confirmations).map(([name, confirmation]) => (
    <ConfirmDialog key={name} {...confirmation} isOpen={shown === name} onClose={onClose} />
  ))
}
