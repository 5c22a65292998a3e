import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { useCallback } from "react"
import type { Data, Whoami } from "#contract"
import { installation } from "../../api/installation.ts"
import { apiQuery } from "../../api/queries.ts"
import { rightsOn } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge } from "../../components/feedback.tsx"
import { Markdown, type RenderImage } from "../../components/markdown/markdown.tsx"
import { DescriptionList, PageHeader, Section } from "../../components/page.tsx"
import { CopyableText, RelativeTime, useNow } from "../../components/values.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { UnlessGone } from "../editing/unless-gone.tsx"
import { renderDocImage } from "../files/preview/doc-image.tsx"
import { AccessList, grantsQuery } from "../sharing/access-list.tsx"
import { DatasetActions } from "./dataset-actions.tsx"
import { datasetQuery } from "./queries.ts"

const { datasets, listing, sharing } = resourceTexts

export function DatasetPage() {
  const { id } = useParams({ from: "/shell/datasets/$id" })
  const dataset = useQuery(datasetQuery(id))
  const { data: person } = useQuery(apiQuery("whoami"))
  return (
    <UnlessGone query={dataset} back={<ButtonLink to="/datasets">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => person && <DatasetView dataset={data} person={person} />}
    </UnlessGone>
  )
}

function DatasetView({ dataset, person }: { dataset: Data; person: Whoami }) {
  const { data: grants } = useQuery(grantsQuery({ DataID: dataset.ID }))
  const now = useNow()
  const rights = rightsOn({ ...dataset, isPublished: dataset.IsPublished }, person, grants?.data ?? [], now)
  return (
    <>
      <PageHeader title={dataset.Name} subtitle={<Subtitle dataset={dataset} />}>
        <DatasetActions dataset={dataset} rights={rights} />
      </PageHeader>
      {dataset.Doc.trim() === "" ? <p className="quiet">{datasets.noDoc}</p> : <DatasetDoc dataset={dataset} />}
      <div className="two-columns section-gap">
        <Section title={datasets.details}>
          <DescriptionList
            entries={[
              [listing.owner, dataset.UserName],
              [datasets.created, <RelativeTime key="created" value={dataset.CreatedAt} />],
              [listing.updated, <RelativeTime key="updated" value={dataset.UpdatedAt} />],
              [datasets.id, dataset.ID],
            ]}
          />
        </Section>
        <Section title={sharing.access}>
          <div className="stack">
            <p className="quiet small">{sharing.owner(dataset.UserName)}</p>
            {dataset.IsPublished && <p className="quiet small">{sharing.everybody}</p>}
            {rights.canManage && <AccessList target={{ DataID: dataset.ID }} canRevoke={true} />}
          </div>
        </Section>
      </div>
    </>
  )
}

function DatasetDoc({ dataset: { Doc, AccessInfo } }: { dataset: Data }) {
  const renderImage = useCallback<RenderImage>((image) => renderDocImage(AccessInfo, image), [AccessInfo])
  return <Markdown text={Doc} {...(installation.isBaseOrigin ? { renderImage } : {})} />
}

function Subtitle({ dataset }: { dataset: Data }) {
  return (
    <>
      <CopyableText text={dataset.AccessInfo} />
      {dataset.IsPublished && <Badge tone="good">{datasets.public}</Badge>}
      {dataset.Comment && <span className="wrap-anywhere">{dataset.Comment}</span>}
    </>
  )
}
