import { useBlocker } from "@tanstack/react-router"
import { ConfirmDialog } from "../components/overlays.tsx"
import { texts } from "../text/index.ts"

/**
 * Asks before the person leaves a page with words that are not saved: by a link, by going back, by
 * closing the tab. A save that is under way or done leaves unasked.
 */
export function LeaveGuard({ isChanged, saving }: { isChanged: boolean; saving: { isPending: boolean; isSuccess: boolean } }) {
  const isUnsaved = isChanged && !saving.isPending && !saving.isSuccess
  const { status, proceed, reset } = useBlocker({
    // Filters and tabs of the same page keep the form.
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname,
    enableBeforeUnload: isUnsaved,
    disabled: !isUnsaved,
    withResolver: true,
  })
  const { leave } = texts.common
  return (
    <ConfirmDialog
      title={leave.title}
      text={leave.text}
      action={leave.action}
      isOpen={status === "blocked"}
      onClose={() => reset?.()}
      onConfirm={() => proceed?.()}
    />
  )
}
