import { useQuery } from "@tanstack/react-query"
import { isLive, type RunningProject } from "#contract"
import { apiQuery } from "../../api/queries.ts"
import { projectName } from "../../api/run-names.ts"
import { Section } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { AccessList } from "../sharing/access-list.tsx"
import { ShareButton } from "../sharing/share-dialog.tsx"

/** The people with whom the run is shared, and what shares it and takes it back. */
export function RunAccess({ run }: { run: RunningProject }) {
  const { data: person } = useQuery(apiQuery("whoami"))
  const target = { RunID: run.ID }
  const isOwn = person !== undefined && (person.IsAdmin || person.UserName === run.UserName)
  return (
    <Section title={texts.run.access}>
      <div className="stack">
        <p className="quiet small">{texts.run.accessText(run.UserName)}</p>
        <AccessList target={target} canRevoke={isOwn} />
        {isOwn && isLive(run.State) && (
          <div className="row">
            <ShareButton target={target} name={projectName(run)} />
          </div>
        )}
      </div>
    </Section>
  )
}
