import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { apiQuery } from "../api/queries.ts"
import { Icon } from "../components/icon.tsx"
import { showError } from "../components/toast.tsx"
import { texts } from "../text/index.ts"
import { adminPages, pages } from "./pages.ts"
import { useRunningUploads } from "./running-uploads.ts"

const loadPersonMenu = () => import("./person-menu.tsx")

const shortcut = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘K" : "Ctrl K"

type Page = (typeof pages)[number] | (typeof adminPages)[number]

export function Navigation({ onPalette }: { onPalette: () => void }) {
  return (
    <div className="side">
      <a className="brand" href="/ui/">
        <img src="/ui/icon.svg" alt="" />
        {texts.common.product}
      </a>
      <button type="button" className="button side-button" onClick={onPalette}>
        <Icon name="search" />
        <span className="grow">{texts.common.search}</span>
        <kbd>{shortcut}</kbd>
      </button>
      <nav aria-label={texts.common.navigation}>
        {pages.map((page) => (
          <PageLink key={page.to} page={page} />
        ))}
        <a className="nav-link" href="/docs">
          <Icon name="book" />
          {texts.common.nav.api}
        </a>
        <AdminLinks />
      </nav>
      <PersonButton />
    </div>
  )
}

/** A button that looks like the menu's own. The menu loads when somebody reaches for it. */
function PersonButton() {
  const { data: person } = useQuery(apiQuery("whoami"))
  const [menu, setMenu] = useState<Awaited<ReturnType<typeof loadPersonMenu>>>()
  const content = (
    <>
      <Icon name="user" />
      <span className="grow truncate">{person?.UserName ?? ""}</span>
      <Icon name="down" />
    </>
  )
  if (menu) return <menu.PersonMenu>{content}</menu.PersonMenu>
  const preload = () => void loadPersonMenu().catch(() => {})
  return (
    <button
      type="button"
      className="button side-button"
      data-kind="plain"
      aria-haspopup="menu"
      aria-expanded="false"
      onPointerEnter={preload}
      onFocus={preload}
      onClick={() => void loadPersonMenu().then(setMenu, showError)}
    >
      {content}
    </button>
  )
}

function PageLink({ page: { to, label, icon } }: { page: Page }) {
  return (
    <Link to={to} className="nav-link" activeOptions={{ exact: to === "/" }}>
      <Icon name={icon} />
      {label}
      {to === "/files" && <UploadCount />}
    </Link>
  )
}

function UploadCount() {
  const uploads = useRunningUploads()
  return uploads && <span className="quiet small">{texts.common.nav.uploading(uploads.doneFiles, uploads.files)}</span>
}

function AdminLinks() {
  const { data: person } = useQuery(apiQuery("whoami"))
  if (!person?.IsAdmin) return null
  return (
    <>
      <h2 className="nav-heading">{texts.common.nav.administration}</h2>
      {adminPages.map((page) => (
        <PageLink key={page.to} page={page} />
      ))}
    </>
  )
}
