import { Toast } from "@base-ui/react/toast"
import { errorText } from "../api/error-text.ts"
import { texts } from "../text/index.ts"
import { Button, IconButton } from "./button.tsx"
import { safeDisplayName } from "./display-name.ts"

const manager = Toast.createToastManager()

interface ToastOptions {
  type?: "info" | "warning" | "error"
  description?: string
  /** Takes back what was done. */
  undo?: () => Promise<unknown>
}

/** Says in a corner that something was done, or that the server says something. */
export function showToast(title: string, { type = "info", description, undo }: ToastOptions = {}): void {
  const id = manager.add({
    title: safeDisplayName(title),
    type,
    priority: type === "info" ? "low" : "high",
    timeout: type === "info" && !undo ? 5_000 : 15_000,
    ...(description ? { description: safeDisplayName(description) } : {}),
    ...(undo ? { actionProps: { children: texts.common.undo, onClick: () => void undoAction() } } : {}),
  })
  const undoAction = async () => {
    manager.close(id)
    await undo?.().then(() => showToast(texts.common.undone), showError)
  }
}

/** Shows a failed action whose place on the page has no room for the error. */
export function showError(error: unknown): void {
  const { title, hint } = errorText(error)
  showToast(title, { type: "error", ...(hint ? { description: hint } : {}) })
}

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager} limit={4}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function ToastList() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <Toast.Content className="grow">
        <Toast.Title render={<strong />} />
        <Toast.Description className="quiet" />
      </Toast.Content>
      <Toast.Action render={<Button size="small" />} />
      <Toast.Close render={<IconButton label={texts.common.close} icon="close" size="small" />} />
    </Toast.Root>
  ))
}
