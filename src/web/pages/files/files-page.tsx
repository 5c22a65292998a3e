import { useQuery } from "@tanstack/react-query"
import { Link, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { listDirectory } from "../../api/files-client.ts"
import { installation } from "../../api/installation.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { safeDisplayName } from "../../components/display-name.ts"
import { Loaded, Note } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import { files } from "../../text/files.ts"
import { breadcrumbs } from "./entries.ts"
import { FileBrowser } from "./file-browser.tsx"
import { MountHelp } from "./mount-help.tsx"
import "./files.css"

export function FilesPage() {
  const { path, file } = useSearch({ from: "/shell/files" })
  const person = useQuery(apiQuery("whoami"))
  if (!installation.isBaseOrigin)
    return (
      <>
        <PageHeader title={files.title} />
        <Note tone="warn" role="alert">
          <div className="grow">
            <strong>{files.otherOrigin}</strong>
            <p>{files.otherOriginHint(installation.baseUrl)}</p>
          </div>
        </Note>
      </>
    )
  return (
    <Loaded query={person} height={12}>
      {({ UserName }) => <Directory path={normalize(path ?? `/users/${UserName}`)} file={file} userName={UserName} />}
    </Loaded>
  )
}

function normalize(path: string): string {
  return `/${path.split("/").filter(Boolean).join("/")}`
}

function Directory({ path, file, userName }: { path: string; file: string | undefined; userName: string }) {
  const [isMounting, setMounting] = useState(false)
  const list = useQuery({ queryKey: ["files", path], queryFn: ({ signal }) => listDirectory(path, signal), gcTime: 0, staleTime: 0 })
  return (
    <>
      <PageHeader title={safeDisplayName(path.split("/").at(-1) || files.root)} subtitle={<Trail path={path} userName={userName} />}>
        <Button icon="database" onClick={() => setMounting(true)}>
          {files.mount}
        </Button>
      </PageHeader>
      <Loaded query={list} height={16}>
        {(data) => <FileBrowser key={path} {...{ path, file, userName }} list={data} onChange={() => void list.refetch()} />}
      </Loaded>
      <MountHelp path={path} userName={userName} isOpen={isMounting} onClose={() => setMounting(false)} />
    </>
  )
}

/** The directories above, each a link; the person's own home first by its meaning. */
function Trail({ path, userName }: { path: string; userName: string }) {
  const home = `/users/${userName}`
  const isAtHome = path === home || path.startsWith(`${home}/`)
  const parts = isAtHome
    ? [{ name: files.home, path: home }, ...breadcrumbs(path).slice(2)]
    : [{ name: files.root, path: "/" }, ...breadcrumbs(path)]
  return (
    <nav aria-label={files.path} className="breadcrumbs">
      {parts.map((part, i) => (
        <span key={part.path} className="wrap-anywhere">
          {i > 0 && <span aria-hidden="true"> / </span>}
          {i === parts.length - 1 ? (
            <span aria-current="page">{safeDisplayName(part.name)}</span>
          ) : (
            <Link to="/files" search={{ path: part.path }}>
              {safeDisplayName(part.name)}
            </Link>
          )}
        </span>
      ))}
    </nav>
  )
}
