import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { RecentFiles } from "../../api/recent-files.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { safeDisplayName } from "../../components/display-name.ts"
import { Section } from "../../components/page.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"

/** Links to the files that the person used last in this browser. */
export function RecentFileList({ userName }: { userName: string }) {
  const [recent] = useState(() => new RecentFiles(userName).read())
  const actions = (
    <ButtonLink to="/files" kind="plain" size="small">
      {texts.home.allFiles}
    </ButtonLink>
  )
  return (
    <Section title={texts.home.recentFiles} actions={actions}>
      {recent.length === 0 ? (
        <p className="quiet">{texts.home.noRecentFiles}</p>
      ) : (
        <ul className="list">
          {recent.map(({ path, usedAt }) => {
            const slash = path.lastIndexOf("/")
            const [directory, file] = [path.slice(0, slash) || "/", path.slice(slash + 1)]
            return (
              <li key={path}>
                <div className="grow">
                  <div className="row">
                    <Link to="/files" search={{ path: directory, file }} className="card-title wrap-anywhere">
                      {safeDisplayName(file)}
                    </Link>
                    <span className="quiet small">
                      <RelativeTime value={usedAt} />
                    </span>
                  </div>
                  <p className="quiet small wrap-anywhere">{safeDisplayName(directory)}</p>
                </div>
              </li>
            )
          })}
        </ul>
      )}
    </Section>
  )
}
