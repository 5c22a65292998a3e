import { useNavigate } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { Menu } from "../components/menu.tsx"
import { showError } from "../components/toast.tsx"
import { texts } from "../text/index.ts"
import { signOut } from "./session.ts"
import { currentTheme, setTheme, themes } from "./theme.ts"

/** The opened menu of the person; `children` are its button's content. */
export function PersonMenu({ children }: { children: ReactNode }) {
  const navigate = useNavigate()
  const [theme, showTheme] = useState(currentTheme)
  const { system, light, dark } = texts.common.theme
  const names = { system, light, dark }
  const leave = (everywhere: boolean) => () => void signOut({ everywhere }).catch(showError)
  return (
    <Menu
      defaultOpen
      trigger={
        <button type="button" className="button side-button" data-kind="plain">
          {children}
        </button>
      }
      groups={[
        [{ label: texts.common.nav.me, icon: "user", onSelect: () => void navigate({ to: "/me" }) }],
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
