import { Dialog as BaseDialog } from "@base-ui/react/dialog"
import { type ReactNode, useState } from "react"
import { texts } from "../text/index.ts"
import { Button, IconButton } from "./button.tsx"
import { safeDisplayName } from "./display-name.ts"

// Only pages with menus load it.
export { Menu, type MenuItem } from "./menu.tsx"

interface DialogProps {
  title: string
  isOpen: boolean
  onClose: () => void
  children: ReactNode
  size?: "default" | "wide"
  /** Closes neither by Escape nor by a click beside it. */
  isRequired?: boolean
}

/** Before it is first opened, it costs nothing: long lists have one in each row. */
export function Dialog(props: DialogProps) {
  const [isNeeded, setNeeded] = useState(props.isOpen)
  if (props.isOpen && !isNeeded) setNeeded(true)
  return isNeeded && <OpenedDialog {...props} />
}

function OpenedDialog({ title, isOpen, onClose, children, size = "default", isRequired = false }: DialogProps) {
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => !open && !isRequired && onClose()} disablePointerDismissal={isRequired}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="backdrop" />
        <BaseDialog.Popup className="dialog" data-size={size}>
          <div className="section-header">
            <BaseDialog.Title className="wrap-anywhere">{safeDisplayName(title)}</BaseDialog.Title>
            {!isRequired && <BaseDialog.Close render={<IconButton label={texts.common.close} icon="close" size="small" />} />}
          </div>
          {children}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}

interface ConfirmProps {
  title: string
  text: string
  /** The label of the button that does it. */
  action: string
  isOpen: boolean
  onClose: () => void
  onConfirm: () => void
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog({ title, text, action, isOpen, onClose, onConfirm }: ConfirmProps) {
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <p className="wrap-anywhere">{safeDisplayName(text)}</p>
      <div className="row row-end">
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          kind="danger"
          onClick={() => {
            onConfirm()
            onClose()
          }}
        >
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
