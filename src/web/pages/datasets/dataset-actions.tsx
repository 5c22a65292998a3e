import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Data } from "#contract"
import { client } from "../../api/client.ts"
import type { Rights } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { IconButton } from "../../components/button.tsx"
import { ConfirmDialog, Menu } from "../../components/overlays.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { texts } from "../../text/index.ts"
import { resourceTexts } from "../../text/resources.ts"
import { ShareButton } from "../sharing/share-dialog.tsx"

const { datasets, listing } = resourceTexts

type Question = "publish" | "delete"

/** Everything that the person may do with the dataset. */
export function DatasetActions({ dataset, rights }: { dataset: Data; rights: Rights }) {
  const { ID, Name, IsPublished } = dataset
  const [question, setQuestion] = useState<Question>()
  const navigate = useNavigate()
  const publish = useMutation({
    mutationFn: (isPublished: boolean) => client.updateData({ body: { ID, IsPublished: isPublished } }),
    onSuccess: (now) => showToast(now.IsPublished ? listing.publishedToast(Name) : listing.withdrawnToast(Name)),
    onError: showError,
  })
  const remove = useMutation({
    mutationFn: () => client.deleteData({ query: { ID } }),
    onSuccess: () => {
      showToast(listing.deletedToast(Name))
      void navigate({ to: "/datasets", search: { show: "bin" } })
    },
    onError: showError,
  })
  return (
    <>
      <ButtonLink to="/files" search={{ path: dataset.AccessInfo }} kind="primary" icon="folder">
        {datasets.files}
      </ButtonLink>
      {rights.change && (
        <ButtonLink to="/datasets/$id/edit" params={{ id: ID }} icon="edit">
          {resourceTexts.editing.edit}
        </ButtonLink>
      )}
      {rights.own && <ShareButton target={{ DataID: ID }} name={Name} />}
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
      <Questions
        name={Name}
        question={question}
        onClose={() => setQuestion(undefined)}
        onPublish={() => publish.mutate(true)}
        onDelete={() => remove.mutate()}
      />
    </>
  )
}

interface QuestionsProps {
  name: string
  question: Question | undefined
  onClose: () => void
  onPublish: () => void
  onDelete: () => void
}

function Questions({ name, question, onClose, onPublish, onDelete }: QuestionsProps) {
  return (
    <>
      <ConfirmDialog
        title={datasets.publishTitle(name)}
        text={datasets.publishText}
        action={listing.publish}
        isOpen={question === "publish"}
        onClose={onClose}
        onConfirm={onPublish}
      />
      <ConfirmDialog
        title={datasets.deleteTitle(name)}
        text={datasets.deleteText}
        action={listing.delete}
        isOpen={question === "delete"}
        onClose={onClose}
        onConfirm={onDelete}
      />
    </>
  )
}
