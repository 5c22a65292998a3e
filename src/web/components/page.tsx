import { Tabs as BaseTabs } from "@base-ui/react/tabs"
import { type ReactNode, useEffect } from "react"
import { texts } from "../text/index.ts"
import { safeDisplayName } from "./display-name.ts"

/** The title of a page with its actions. It also sets the title of the window. */
export function PageHeader({ title, children, subtitle }: { title: string; subtitle?: ReactNode; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${safeDisplayName(title)} · ${texts.common.product}`
  }, [title])
  return (
    <header className="page-header">
      <div className="stack">
        <h1>{safeDisplayName(title)}</h1>
        {subtitle && <div className="row quiet">{subtitle}</div>}
      </div>
      {children && <div className="row">{children}</div>}
    </header>
  )
}

export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-header">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}

export function Card({ children }: { children: ReactNode }) {
  return <div className="card">{children}</div>
}

/** Names with values. Entries without a value are left out. */
export function DescriptionList({ entries }: { entries: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {entries
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([name, value]) => (
          <FactRow key={name} name={name} value={value} />
        ))}
    </dl>
  )
}

function FactRow({ name, value }: { name: string; value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )
}

export interface Tab<T extends string> {
  value: T
  label: string
  content: () => ReactNode
}

/** Parts of a page of which one shows. The choice belongs into the address. */
export function Tabs<T extends string>({ tabs, value, onValue }: { tabs: readonly Tab<T>[]; value: T; onValue: (value: T) => void }) {
  return (
    <BaseTabs.Root value={value} onValueChange={(next) => onValue(next as T)}>
      <BaseTabs.List className="tabs-list">
        {tabs.map((tab) => (
          <BaseTabs.Tab key={tab.value} value={tab.value} className="tab">
            {tab.label}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {tabs.map((tab) => (
        <BaseTabs.Panel key={tab.value} value={tab.value} className="tab-panel">
          {tab.value === value && tab.content()}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  )
}
