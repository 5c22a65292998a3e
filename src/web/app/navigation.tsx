import { Link } from "@tanstack/react-router"
import { lazy, Suspense } from "react"
import { Icon } from "../components/icon.tsx"
import { texts } from "../text/index.ts"
import { pages } from "./pages.ts"

/** Menus load after the page is drawn. */
const PersonMenu = lazy(() => import("./person-menu.tsx").then(({ PersonMenu: component }) => ({ default: component })))

const shortcut = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘K" : "Ctrl K"

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
        {pages.map(({ to, label, icon }) => (
          <Link key={to} to={to} className="nav-link" activeOptions={{ exact: to === "/" }}>
            <Icon name={icon} />
            {label}
          </Link>
        ))}
        <a className="nav-link" href="/docs">
          <Icon name="book" />
          {texts.common.nav.api}
        </a>
      </nav>
      <Suspense>
        <PersonMenu />
      </Suspense>
    </div>
  )
}
