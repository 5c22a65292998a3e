import { useQuery } from "@tanstack/react-query"
import { Suspense } from "react"
import { apiQuery } from "../../api/queries.ts"
import { Loaded } from "../../components/feedback.tsx"
import { lazyComponent } from "../../components/lazy-component.ts"
import { PageHeader } from "../../components/page.tsx"
import { texts } from "../../text/index.ts"
import { EndedRuns } from "./ended-runs.tsx"
import { RecentFileList } from "./recent-files.tsx"
import { RunningRuns } from "./running-runs.tsx"
import { StartableProjects } from "./startable-projects.tsx"

const AdminSummary = lazyComponent(() => import("../health/admin-summary.tsx"), "AdminSummary")

export function HomePage() {
  const person = useQuery(apiQuery("whoami"))
  return (
    <>
      <PageHeader title={texts.home.title} />
      <Loaded query={person} height={8}>
        {({ UserName, IsAdmin, Groups }) => (
          <>
            <RunningRuns userName={UserName} immediateCards={IsAdmin ? 0 : 2} />
            <StartableProjects userName={UserName} groups={Groups} />
            <RecentFileList userName={UserName} />
            <EndedRuns userName={UserName} />
            {IsAdmin && (
              <Suspense>
                <AdminSummary />
              </Suspense>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}
