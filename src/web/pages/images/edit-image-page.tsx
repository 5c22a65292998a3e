import { useQuery } from "@tanstack/react-query"
import { useNavigate, useParams } from "@tanstack/react-router"
import { useMemo } from "react"
import type { Image } from "#contract"
import { client } from "../../api/client.ts"
import { apiQuery } from "../../api/queries.ts"
import { ifMatch, type Versioned, versionedQuery } from "../../api/versioned.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { PageHeader } from "../../components/page.tsx"
import { showToast } from "../../components/toast.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { EditForm } from "../editing/edit-form.tsx"
import { FormUnlessGone } from "../editing/unless-gone.tsx"
import { useEditing } from "../editing/use-editing.ts"
import { type ImageDraft, imageBody, imageDraftOf } from "./image-draft.ts"
import { ImageFields } from "./image-form.tsx"

const { images } = resourceTexts
const labels: { readonly [K in keyof ImageDraft]: string } = {
  Name: images.name,
  Image: images.reference,
  Comment: images.comment,
  Command: images.command,
  Env: images.env,
  Port: images.port,
  Doc: images.doc,
  IsTrusted: images.trusted,
  KeepPresent: images.keepPresent,
  WritablePaths: images.writablePaths,
}

export function EditImagePage() {
  const { id } = useParams({ from: "/shell/images/$id/edit" })
  const image = useQuery(versionedQuery("readImage", id))
  return (
    <FormUnlessGone query={image} back={<ButtonLink to="/images">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => <EditImage key={id} image={data} />}
    </FormUnlessGone>
  )
}

function EditImage({ image: { value, etag } }: { image: Versioned<Image> }) {
  const { data: person } = useQuery(apiQuery("whoami"))
  const navigate = useNavigate()
  const latest = useMemo(() => imageDraftOf(value), [value])
  const { ID } = value
  const form = useEditing({
    latest,
    etag,
    operation: "readImage",
    save: (changes, version) => client.updateImage({ body: { ID, ...imageBody(changes) }, headers: ifMatch(version) }),
    onSaved: ({ Name }) => {
      showToast(resourceTexts.editing.saved(Name))
      void navigate({ to: "/images/$id", params: { id: ID } })
    },
  })
  return (
    <>
      <PageHeader title={images.edit(value.Name)} />
      <EditForm form={form} labels={labels} className="form" aria-label={images.edit(value.Name)}>
        <ImageFields draft={form.editing.draft} onDraft={form.set} error={form.error} isAdmin={person?.IsAdmin ?? false} />
      </EditForm>
    </>
  )
}
