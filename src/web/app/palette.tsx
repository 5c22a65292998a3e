import { Dialog as BaseDialog } from "@base-ui/react/dialog"
import { useQuery } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { type KeyboardEvent, useDeferredValue, useId, useState } from "react"
import { apiQuery } from "../api/queries.ts"
import { projectName } from "../api/run-names.ts"
import { Icon, type IconName } from "../components/icon.tsx"
import { texts } from "../text/index.ts"
import { adminPages, pages } from "./pages.ts"

interface Command {
  key: string
  group: string
  label: string
  icon: IconName
  run: () => void
}

/** Goes anywhere by typing: pages, projects to start, runs. */
export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="backdrop" />
        <BaseDialog.Popup className="dialog palette" aria-label={texts.common.palette.open}>
          <PaletteContent onClose={onClose} />
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}

function PaletteContent({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState("")
  const [selected, setSelected] = useState(0)
  const listId = useId()
  const commands = useCommands(useDeferredValue(words))
  const current = Math.min(selected, commands.length - 1)
  const choose = (command: Command | undefined) => {
    if (!command) return
    onClose()
    command.run()
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setSelected((current + step + commands.length) % Math.max(1, commands.length))
    else if (event.key === "Enter") choose(commands[current])
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={commands[current] ? `${listId}-${current}` : undefined}
        aria-label={texts.common.palette.placeholder}
        placeholder={texts.common.palette.placeholder}
        value={words}
        maxLength={200}
        onChange={(event) => {
          setWords(event.target.value)
          setSelected(0)
        }}
        onKeyDown={onKey}
      />
      <div className="option-list" id={listId} role="listbox" aria-label={texts.common.palette.open}>
        {commands.length === 0 && <div className="option-heading">{texts.common.palette.empty}</div>}
        {commands.map((command, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
          <div
            key={command.key}
            id={`${listId}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === current}
            className="option"
            {...(i === current ? { "data-highlighted": "" } : {})}
            onPointerMove={() => setSelected(i)}
            onClick={() => choose(command)}
          >
            <Icon name={command.icon} />
            <span className="grow">{command.label}</span>
            <span className="quiet small">{command.group}</span>
          </div>
        ))}
      </div>
    </>
  )
}

const shownCount = 6

function useCommands(words: string): Command[] {
  const navigate = useNavigate()
  const search = words.trim()
  const { data: projects } = useQuery(apiQuery("listProjects", { query: { ...(search ? { q: search } : {}), pageSize: shownCount } }))
  const { data: runs } = useQuery(apiQuery("listRuns", { query: { pageSize: shownCount * 4 } }))
  const { data: person } = useQuery(apiQuery("whoami"))
  const isMatch = (label: string) => label.toLowerCase().includes(search.toLowerCase())
  const { palette } = texts.common
  return [
    ...[...pages, ...(person?.IsAdmin ? adminPages : [])]
      .filter(({ label }) => isMatch(label))
      .map(({ to, label, icon }) => ({ key: to, group: palette.pages, label, icon, run: () => void navigate({ to }) })),
    ...(runs?.data ?? [])
      .filter((run) => isMatch(projectName(run)))
      .slice(0, shownCount)
      .map((run) => ({
        key: `run ${run.ID}`,
        group: palette.runs,
        label: projectName(run),
        icon: "play" as const,
        run: () => void navigate({ to: "/runs/$id", params: { id: run.ID } }),
      })),
    ...(projects?.data ?? []).map((project) => ({
      key: `project ${project.ID}`,
      group: palette.projects,
      label: project.ProjectName,
      icon: "box" as const,
      run: () => void navigate({ to: "/start/$project", params: { project: project.ID } }),
    })),
  ]
}
