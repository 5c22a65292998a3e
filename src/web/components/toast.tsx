import { Toast } from "@base-ui/react/toast"
import { errorText } from "../api/error-text.ts"
import { texts } from "../text/index.ts"
import { IconButton } from "./button.tsx"

const manager = Toast.createToastManager()

/** Says in a corner that something was done, or that the server says something. */
export function showToast(title: string, options: { type?: "info" | "warning" | "error"; description?: string } = {}): void {
  const { type = "info", description } = options
  manager.add({
    title,
    type,
    priority: type === "info" ? "low" : "high",
    timeout: type === "info" ? 5_000 : 15_000,
    ...(description ? { description } : {}),
  })
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
      <Toast.Close render={<IconButton label={texts.common.close} icon="close" size="small" />} />
    </Toast.Root>
  ))
}
