import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import type { Data, Grant, List } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { Badge, Loaded } from "../../components/feedback.tsx"
import { Section } from "../../components/page.tsx"
import { Pager } from "../../components/table.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { resourceTexts } from "../../text/resources.ts"

const { groups, sharing } = resourceTexts
const pageSize = 20

/** The projects that name the group: its members see and start them. */
export function GroupProjects({ groupName }: { groupName: string }) {
  const [page, setPage] = useState(1)
  const projects = useQuery({
    ...apiQuery("listProjects", { query: { GroupName: groupName, page, pageSize } }),
    placeholderData: keepPreviousData,
  })
  return (
    <Section title={groups.projects}>
      <Loaded query={projects} height={4}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <p className="quiet">{groups.noProjects}</p>
          ) : (
            <div>
              <ul className="list">
                {data.map((project) => (
                  <li key={project.ID}>
                    <Link to="/projects/$id" params={{ id: project.ID }} className="grow">
                      {project.ProjectName}
                    </Link>
                    <span className="quiet small">{project.UserName}</span>
                  </li>
                ))}
              </ul>
              {pageCount > 1 && <Pager page={page} pageCount={pageCount} onPage={setPage} />}
            </div>
          )
        }
      </Loaded>
    </Section>
  )
}

/** The images, datasets and projects that their owners share with the group. */
export function GroupShares({ groupName }: { groupName: string }) {
  const [page, setPage] = useState(1)
  const grants = useQuery({
    ...apiQuery("listGrants", { query: { GroupName: groupName, page, pageSize } }),
    placeholderData: keepPreviousData,
  })
  const names = useNames(grants.data?.data ?? [])
  return (
    <Section title={groups.shared}>
      <Loaded query={grants} height={4}>
        {({ data, pageCount }) =>
          data.length === 0 ? (
            <p className="quiet">{groups.nothingShared}</p>
          ) : (
            <div>
              <ul className="list">
                {data.map((grant) => (
                  <li key={grant.ID}>
                    <div className="grow">
                      <GrantTarget grant={grant} names={names} />
                      {grant.Until && (
                        <p className="quiet small">
                          {groups.ends} <RelativeTime value={grant.Until} />
                        </p>
                      )}
                    </div>
                    <Badge>{kindName(grant)}</Badge>
                  </li>
                ))}
              </ul>
              {pageCount > 1 && <Pager page={page} pageCount={pageCount} onPage={setPage} />}
            </div>
          )
        }
      </Loaded>
    </Section>
  )
}

function kindName({ ImageID, DataID, ProjectID }: Grant): string {
  if (ImageID > 0) return groups.kinds.image
  if (DataID > 0) return groups.kinds.data
  return ProjectID > 0 ? groups.kinds.project : groups.kinds.run
}

type Names = ReadonlyMap<string, string>

function GrantTarget({ grant, names }: { grant: Grant; names: Names }): ReactNode {
  const { ImageID, DataID, ProjectID, RunID } = grant
  const id = ImageID || DataID || ProjectID || RunID
  const name = names.get(`${kindName(grant)} ${id}`) ?? groups.thing(kindName(grant), id)
  const right = DataID > 0 ? sharing.rights.data[grant.Access] : sharing.rights.project[grant.Access]
  const title =
    ImageID > 0 ? (
      <Link to="/images/$id" params={{ id }}>
        {name}
      </Link>
    ) : ProjectID > 0 ? (
      <Link to="/projects/$id" params={{ id }}>
        {name}
      </Link>
    ) : RunID > 0 ? (
      <Link to="/runs/$id" params={{ id }}>
        {name}
      </Link>
    ) : (
      <span>{name}</span>
    )
  return (
    <>
      {title}
      <p className="quiet small">{ImageID > 0 ? sharing.rights.image[grant.Access] : right}</p>
    </>
  )
}

/** The names of the shared objects that the reader may see: one request for each kind. */
function useNames(grants: readonly Grant[]): Names {
  const ids = (name: "ImageID" | "DataID" | "ProjectID") => [...new Set(grants.map((grant) => grant[name]).filter((id) => id > 0))]
  const [imageIds, dataIds, projectIds] = [ids("ImageID"), ids("DataID"), ids("ProjectID")]
  const images = useQuery({ ...apiQuery("listImages", { query: { ID: imageIds, pageSize } }), enabled: imageIds.length > 0 })
  const data = useQuery({ ...apiQuery("listData", { query: { ID: dataIds, page: 1, pageSize } }), enabled: dataIds.length > 0 })
  const projects = useQuery({ ...apiQuery("listProjects", { query: { ID: projectIds, pageSize } }), enabled: projectIds.length > 0 })
  const { kinds } = groups
  return new Map([
    ...(images.data?.data ?? []).map(({ ID, Name }) => [`${kinds.image} ${ID}`, Name] as const),
    ...((data.data as List<Data> | undefined)?.data ?? []).map(({ ID, Name }) => [`${kinds.data} ${ID}`, Name] as const),
    ...(projects.data?.data ?? []).map(({ ID, ProjectName }) => [`${kinds.project} ${ID}`, ProjectName] as const),
  ])
}
