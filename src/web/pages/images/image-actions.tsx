import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Image } from "#contract"
import { client } from "../../api/client.ts"
import type { Rights } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { IconButton } from "../../components/button.tsx"
import { ConfirmDialog, Menu } from "../../components/overlays.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { texts } from "../../text/index.ts"
import { resourceTexts } from "../../text/resources.ts"
import { ShareButton } from "../sharing/share-dialog.tsx"

const { images, listing } = resourceTexts

/** Everything that the person may do with the image. */
export function ImageActions({ image, rights }: { image: Image; rights: Rights }) {
  const { ID, Name, IsPublished } = image
  const [question, setQuestion] = useState<"publish" | "delete">()
  const navigate = useNavigate()
  const publish = useMutation({
    mutationFn: (isPublished: boolean) => client.updateImage({ body: { ID, IsPublished: isPublished } }),
    onSuccess: (now) => showToast(now.IsPublished ? listing.publishedToast(Name) : listing.withdrawnToast(Name)),
    onError: showError,
  })
  const remove = useMutation({
    mutationFn: () => client.deleteImage({ query: { ID } }),
    onSuccess: () => {
      showToast(listing.deletedToast(Name))
      void navigate({ to: "/images", search: { show: "bin" } })
    },
    onError: showError,
  })
  return (
    <>
      {rights.use && (
        <ButtonLink to="/projects/new" search={{ image: ID }} kind="primary" icon="plus">
          {images.newProject}
        </ButtonLink>
      )}
      {rights.change && (
        <ButtonLink to="/images/$id/edit" params={{ id: ID }} icon="edit">
          {resourceTexts.editing.edit}
        </ButtonLink>
      )}
      {rights.own && <ShareButton target={{ ImageID: ID }} name={Name} />}
      {rights.own && (
        <Menu
          trigger={<IconButton label={texts.common.more} icon="more" kind="default" />}
          groups={[
            [
              IsPublished
                ? { label: listing.withdraw, icon: "close", onSelect: () => publish.mutate(false) }
                : { label: listing.publish, icon: "open", onSelect: () => setQuestion("publish") },
            ],
            [{ label: listing.delete, icon: "trash", tone: "danger", onSelect: () => setQuestion("delete") }],
          ]}
        />
      )}
      <ConfirmDialog
        title={images.publishTitle(Name)}
        text={images.publishText}
        action={listing.publish}
        isOpen={question === "publish"}
        onClose={() => setQuestion(undefined)}
        onConfirm={() => publish.mutate(true)}
      />
      <ConfirmDialog
        title={images.deleteTitle(Name)}
        text={images.deleteText}
        action={listing.delete}
        isOpen={question === "delete"}
        onClose={() => setQuestion(undefined)}
        onConfirm={() => remove.mutate()}
      />
    </>
  )
}
