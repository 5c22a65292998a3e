import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { IconButton } from "../../components/button.tsx"
import { Confirmations } from "../../components/confirmations.tsx"
import { Menu } from "../../components/overlays.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { texts } from "../../text/index.ts"
import { resourceTexts } from "../../text/resources.ts"
import type { ShareTarget } from "./share.ts"
import { ShareButton } from "./share-dialog.tsx"

const { listing } = resourceTexts

interface OwnerActionsProps {
  name: string
  isPublished: boolean
  target: ShareTarget
  /** The list whose bin gets it. */
  list: "/images" | "/datasets"
  labels: { publishTitle: (name: string) => string; publishText: string; deleteTitle: (name: string) => string; deleteText: string }
  setPublished: (isPublished: boolean) => Promise<{ IsPublished: boolean }>
  remove: () => Promise<unknown>
  restore: () => Promise<unknown>
}

/** Sharing, publishing and deleting of an image or dataset. */
export function OwnerActions({ name, isPublished, target, list, labels, setPublished, remove, restore }: OwnerActionsProps) {
  const [shown, ask] = useState<"publish" | "delete">()
  const navigate = useNavigate()
  const publish = useMutation({
    mutationFn: setPublished,
    onSuccess: (now) => showToast(now.IsPublished ? listing.publishedToast(name) : listing.withdrawnToast(name)),
    onError: showError,
  })
  const deletion = useMutation({
    mutationFn: remove,
    onSuccess: () => {
      showToast(listing.deletedToast(name), { undo: restore })
      void navigate({ to: list, search: { show: "bin" } })
    },
    onError: showError,
  })
  const { publishTitle, publishText, deleteTitle, deleteText } = labels
  return (
    <>
      <ShareButton target={target} name={name} />
      <Menu
        trigger={<IconButton label={texts.common.more} icon="more" kind="default" />}
        groups={[
          [
            isPublished
              ? { label: listing.withdraw, icon: "close", onSelect: () => publish.mutate(false) }
              : { label: listing.publish, icon: "open", onSelect: () => ask("publish") },
          ],
          [{ label: listing.delete, icon: "trash", tone: "danger", onSelect: () => ask("delete") }],
        ]}
      />
      <Confirmations
        shown={shown}
        onClose={() => ask(undefined)}
        confirmations={{
          publish: { title: publishTitle(name), text: publishText, action: listing.publish, onConfirm: () => publish.mutate(true) },
          delete: { title: deleteTitle(name), text: deleteText, action: listing.delete, onConfirm: () => deletion.mutate() },
        }}
      />
    </>
  )
}
