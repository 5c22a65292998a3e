import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { apiQuery } from "../api/queries.ts"
import { Icon } from "../components/icon.tsx"
import { Menu } from "../components/overlays.tsx"
import { showError } from "../components/toast.tsx"
import { texts } from "../text/index.ts"
import { pages } from "./pages.ts"
import { signOut } from "./session.ts"
import { currentTheme, setTheme, themes } from "./theme.ts"

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
      <PersonMenu />
    </div>
  )
}

function PersonMenu() {
  const { data: person } = useQuery(apiQuery("whoami"))
  const [theme, showTheme] = useState(currentTheme)
  const { system, light, dark } = texts.common.theme
  const names = { system, light, dark }
  const leave = (everywhere: boolean) => () => void signOut({ everywhere }).catch(showError)
  return (
    <Menu
      trigger={
        <button type="button" className="button side-button" data-kind="plain">
          <Icon name="user" />
          <span className="grow truncate">{person?.UserName ?? ""}</span>
          <Icon name="down" />
        </button>
      }
      groups={[
        themes.map((each) => ({
          label: `${texts.common.theme.label}: ${names[each]}`,
          isChecked: each === theme,
          onSelect: () => {
            setTheme(each)
            showTheme(each)
          },
        })),
        [
          { label: texts.session.signOut, onSelect: leave(false) },
          { label: texts.session.signOutEverywhere, onSelect: leave(true) },
        ],
      ]}
    />
  )
}
