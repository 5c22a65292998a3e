import { useQuery } from "@tanstack/react-query"
import { useNavigate, useParams } from "@tanstack/react-router"
import { useMemo } from "react"
import type { Data } from "#contract"
import { client } from "../../api/client.ts"
import { ifMatch, versionedQuery } from "../../api/versioned.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { PageHeader } from "../../components/page.tsx"
import { showToast } from "../../components/toast.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { EditForm } from "../editing/edit-form.tsx"
import { FormUnlessGone } from "../editing/unless-gone.tsx"
import { useEditing } from "../editing/use-editing.ts"
import { type DatasetDraft, datasetDraftOf } from "./dataset-draft.ts"
import { DatasetFields } from "./dataset-form.tsx"

const { datasets, editing } = resourceTexts
const labels: { readonly [K in keyof DatasetDraft]: string } = {
  Name: datasets.name,
  Comment: datasets.comment,
  AccessInfo: datasets.place,
  Doc: datasets.doc,
}

export function EditDatasetPage() {
  const { id } = useParams({ from: "/shell/datasets/$id/edit" })
  const query = useQuery(versionedQuery("listData", id))
  return (
    <FormUnlessGone query={query} back={<ButtonLink to="/datasets">{editing.back}</ButtonLink>}>
      {({ value, etag }) => <EditDataset key={id} dataset={value as Data} etag={etag} />}
    </FormUnlessGone>
  )
}

function EditDataset({ dataset, etag }: { dataset: Data; etag: string }) {
  const navigate = useNavigate()
  const latest = useMemo(() => datasetDraftOf(dataset), [dataset])
  const { ID } = dataset
  const form = useEditing({
    latest,
    etag,
    operation: "listData",
    save: (changes, version) => client.updateData({ body: { ID, ...changes }, headers: ifMatch(version) }),
    onSaved: ({ Name }) => {
      showToast(editing.saved(Name))
      void navigate({ to: "/datasets/$id", params: { id: ID } })
    },
  })
  return (
    <>
      <PageHeader title={datasets.edit(dataset.Name)} />
      <EditForm form={form} labels={labels} className="form" aria-label={datasets.edit(dataset.Name)}>
        <DatasetFields draft={form.editing.draft} onDraft={form.set} error={form.error} />
      </EditForm>
    </>
  )
}
