import { Dialog as BaseDialog } from "@base-ui/react/dialog"
import { Outlet, useRouterState } from "@tanstack/react-router"
import { Suspense, useEffect, useState, useSyncExternalStore } from "react"
import { connection } from "../api/connection.ts"
import { IconButton } from "../components/button.tsx"
import { lazyComponent } from "../components/lazy-component.ts"
import { texts } from "../text/index.ts"
import { useLiveUpdates } from "./live-updates.ts"
import { Navigation } from "./navigation.tsx"
import { useShortcuts } from "./shortcuts.ts"

const CommandPalette = lazyComponent(() => import("./command-palette.tsx"), "CommandPalette")
const ExpiredDialog = lazyComponent(() => import("./expired-dialog.tsx"), "ExpiredDialog")

/** The frame of every page of a signed-in person. */
export function Layout() {
  useLiveUpdates()
  useEffect(() => {
    // Keys that are typed right after the shortcut must reach it.
    void CommandPalette.preload?.()
    // It must open over a form although a newer build came meanwhile.
    void ExpiredDialog.preload?.()
  }, [])
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  useShortcuts(() => setPaletteOpen(true))
  const { isUnreachable, isExpired } = useSyncExternalStore(connection.subscribe, connection.get)
  return (
    <>
      <a className="skip-link" href="#main">
        {texts.common.skip}
      </a>
      <div className="shell">
        <Navigation onPalette={() => setPaletteOpen(true)} />
        <NarrowBar onPalette={() => setPaletteOpen(true)} />
        <div>
          <div role="status">{isUnreachable && <div className="banner">{texts.common.away}</div>}</div>
          <main className="main" id="main" tabIndex={-1}>
            <Outlet />
          </main>
        </div>
      </div>
      <Suspense>
        {isPaletteOpen && <CommandPalette onClose={() => setPaletteOpen(false)} />}
        {isExpired && <ExpiredDialog isOpen />}
      </Suspense>
    </>
  )
}

/** On narrow windows the navigation opens from a bar at the top. */
function NarrowBar({ onPalette }: { onPalette: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const path = useRouterState({ select: (state) => state.location.pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the drawer
  useEffect(() => setOpen(false), [path])
  return (
    <div className="top-bar">
      <BaseDialog.Root open={isOpen} onOpenChange={setOpen}>
        <BaseDialog.Trigger render={<IconButton label={texts.common.menu} icon="menu" />} />
        <BaseDialog.Portal>
          <BaseDialog.Backdrop className="backdrop" />
          <BaseDialog.Popup className="drawer" aria-label={texts.common.menu}>
            <Navigation
              onPalette={() => {
                setOpen(false)
                onPalette()
              }}
            />
          </BaseDialog.Popup>
        </BaseDialog.Portal>
      </BaseDialog.Root>
      <a className="brand" href="/ui/">
        <img src="/ui/icon.svg" alt="" />
        {texts.common.product}
      </a>
      <IconButton label={texts.common.palette.open} icon="search" onClick={onPalette} />
    </div>
  )
}
