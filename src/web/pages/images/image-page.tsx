import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import type { Image, Whoami } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { rightsOn } from "../../api/rights.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Badge } from "../../components/feedback.tsx"
import { LongText } from "../../components/long-text/long-text.tsx"
import { Markdown } from "../../components/markdown/markdown.tsx"
import { DescriptionList, PageHeader, Section } from "../../components/page.tsx"
import { CopyableText, RelativeTime, useNow } from "../../components/values.tsx"
import { resourceTexts } from "../../text/resources.ts"
import { UnlessGone } from "../editing/unless-gone.tsx"
import { AccessList, grantsQuery } from "../sharing/access-list.tsx"
import { ImageActions } from "./image-actions.tsx"
import { ImageState } from "./image-state.tsx"

const { images } = resourceTexts

export function ImagePage() {
  const { id } = useParams({ from: "/shell/images/$id" })
  const image = useQuery(apiQuery("readImage", { query: { ID: id } }))
  const { data: person } = useQuery(apiQuery("whoami"))
  return (
    <UnlessGone query={image} back={<ButtonLink to="/images">{resourceTexts.editing.back}</ButtonLink>}>
      {(data) => person && <ImageView image={data} person={person} />}
    </UnlessGone>
  )
}

function ImageView({ image, person }: { image: Image; person: Whoami }) {
  const { data: grants } = useQuery(grantsQuery({ ImageID: image.ID }))
  const now = useNow()
  const rights = rightsOn({ ...image, isPublished: image.IsPublished }, person, grants?.data ?? [], now)
  const { sharing } = resourceTexts
  return (
    <>
      <PageHeader title={image.Name} subtitle={<Subtitle image={image} />}>
        <ImageActions image={image} rights={rights} />
      </PageHeader>
      {image.Doc.trim() === "" ? <p className="quiet">{images.noDoc}</p> : <Markdown text={image.Doc} />}
      <div className="two-columns section-gap">
        <Section title={images.definition}>
          <Definition image={image} />
        </Section>
        <Section title={images.present}>
          <ImageState id={image.ID} canPull={rights.canUse} />
        </Section>
        <Section title={sharing.access}>
          <div className="stack">
            <p className="quiet small">{sharing.owner(image.UserName)}</p>
            {image.IsPublished && <p className="quiet small">{sharing.everybody}</p>}
            {rights.canManage && <AccessList target={{ ImageID: image.ID }} canRevoke={true} />}
          </div>
        </Section>
      </div>
    </>
  )
}

function Subtitle({ image }: { image: Image }) {
  return (
    <>
      <CopyableText text={image.Image} />
      {image.IsPublished && <Badge tone="good">{images.public}</Badge>}
      {image.IsTrusted && <Badge tone="good">{images.trusted}</Badge>}
      {image.KeepPresent && <Badge>{images.keptPresent}</Badge>}
      {image.Comment && <span className="wrap-anywhere">{image.Comment}</span>}
    </>
  )
}

function Definition({ image }: { image: Image }) {
  return (
    <DescriptionList
      entries={[
        [resourceTexts.listing.owner, image.UserName],
        [images.command, image.Command && <code>{image.Command}</code>],
        [images.port, image.Port],
        [
          images.env,
          image.Env && (
            <pre className="code-block">
              <LongText text={image.Env} />
            </pre>
          ),
        ],
        [images.writablePaths, image.WritablePaths.length > 0 ? <code key="paths">{image.WritablePaths.join(", ")}</code> : ""],
        [images.created, <RelativeTime key="created" value={image.CreatedAt} />],
        [resourceTexts.listing.updated, <RelativeTime key="updated" value={image.UpdatedAt} />],
        [images.id, image.ID],
      ]}
    />
  )
}
