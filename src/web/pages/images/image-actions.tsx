import type { Image } from "#contract"
import { client } from "../../api/client.ts"
import type { Rights } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { OwnerActions } from "../sharing/owner-actions.tsx"

const { images, editing } = resourceTexts

/** Everything that the person may do with the image. */
export function ImageActions({ image, rights }: { image: Image; rights: Rights }) {
  const { ID, Name } = image
  return (
    <>
      {rights.canUse && (
        <ButtonLink to="/projects/new" search={{ image: ID }} kind="primary" icon="plus">
          {images.newProject}
        </ButtonLink>
      )}
      {rights.canChange && (
        <ButtonLink to="/images/$id/edit" params={{ id: ID }} icon="edit">
          {editing.edit}
        </ButtonLink>
      )}
      {rights.canManage && (
        <OwnerActions
          name={Name}
          isPublished={image.IsPublished}
          target={{ ImageID: ID }}
          list="/images"
          labels={images}
          setPublished={(IsPublished) => client.updateImage({ body: { ID, IsPublished } })}
          remove={() => client.deleteImage({ query: { ID } })}
          restore={() => client.restoreImage({ query: { ID } })}
        />
      )}
    </>
  )
}
