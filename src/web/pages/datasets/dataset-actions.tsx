import type { Data } from "#contract"
import { client } from "../../api/client.ts"
import type { Rights } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { OwnerActions } from "../sharing/owner-actions.tsx"

const { datasets, editing } = resourceTexts

/** Everything that the person may do with the dataset. */
export function DatasetActions({ dataset, rights }: { dataset: Data; rights: Rights }) {
  const { ID, Name, AccessInfo } = dataset
  return (
    <>
      <ButtonLink to="/files" search={{ path: AccessInfo }} kind="primary" icon="folder">
        {datasets.files}
      </ButtonLink>
      {rights.canChange && (
        <ButtonLink to="/datasets/$id/edit" params={{ id: ID }} icon="edit">
          {editing.edit}
        </ButtonLink>
      )}
      {rights.canManage && (
        <OwnerActions
          name={Name}
          isPublished={dataset.IsPublished}
          target={{ DataID: ID }}
          list="/datasets"
          labels={datasets}
          setPublished={(IsPublished) => client.updateData({ body: { ID, IsPublished } })}
          remove={() => client.deleteData({ query: { ID } })}
          restore={() => client.restoreData({ query: { ID } })}
        />
      )}
    </>
  )
}
