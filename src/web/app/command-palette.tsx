import { Dialog as BaseDialog } from "@base-ui/react/dialog"
import { useQuery } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { type KeyboardEvent, type RefObject, useDeferredValue, useEffect, useId, useRef, useState } from "react"
import type { RunningProject } from "#contract"
import { client } from "../api/client.ts"
import { apiQuery } from "../api/queries.ts"
import { canDo } from "../api/run-actions.ts"
import { projectName } from "../api/run-names.ts"
import { safeDisplayName } from "../components/display-name.ts"
import { Icon, type IconName } from "../components/icon.tsx"
import { ConfirmDialog } from "../components/overlays.tsx"
import { showError } from "../components/toast.tsx"
import { useDebounced } from "../components/use-debounced.ts"
import { datasetsQuery } from "../pages/datasets/queries.ts"
import { texts } from "../text/index.ts"
import { adminCreationForms, adminPages, creationForms, pages } from "./pages.ts"

interface Command {
  key: string
  group: string
  label: string
  icon: IconName
  run: () => void
  /** A question follows in the palette's place. */
  asks?: boolean
}

/** Goes anywhere and does what is common, by typing. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [stopped, setStopped] = useState<RunningProject>()
  const field = useRef<HTMLInputElement>(null)
  /** The library focuses a frame later, which would lose the keys that are typed until then. */
  const focusAtOnce = () => {
    field.current?.focus()
    return field.current
  }
  if (stopped)
    return (
      <ConfirmDialog
        title={texts.run.stopTitle(projectName(stopped))}
        text={texts.run.stopText}
        action={texts.run.stop}
        isOpen
        onClose={onClose}
        onConfirm={() => void client.stopRun({ query: { ID: stopped.ID } }).catch(showError)}
      />
    )
  return (
    <BaseDialog.Root open onOpenChange={(open) => !open && onClose()}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="backdrop" />
        <BaseDialog.Popup className="dialog palette" aria-label={texts.common.palette.open} initialFocus={focusAtOnce}>
          <PaletteContent field={field} onClose={onClose} onStop={setStopped} />
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}

interface ContentProps {
  field: RefObject<HTMLInputElement | null>
  onClose: () => void
  onStop: (run: RunningProject) => void
}

function PaletteContent({ field, onClose, onStop }: ContentProps) {
  const [searchText, setSearchText] = useState("")
  const [selected, setSelected] = useState(0)
  const listId = useId()
  const shownText = useDeferredValue(searchText)
  const { commands, settledCount } = useCommands(shownText, onStop)
  const current = Math.min(selected, commands.length - 1)
  const choose = (command: Command | undefined) => {
    if (!command) return
    if (!command.asks) onClose()
    command.run()
  }
  const isSettled = shownText === searchText && Math.max(0, current) < settledCount
  const enter = useEnter(searchText, isSettled, () => choose(commands[current]))
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setSelected((current + step + commands.length) % Math.max(1, commands.length))
    else if (event.key === "Enter") enter()
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        ref={field}
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={commands[current] ? `${listId}-${current}` : undefined}
        aria-label={texts.common.palette.placeholder}
        placeholder={texts.common.palette.placeholder}
        value={searchText}
        maxLength={200}
        onChange={(event) => {
          setSearchText(event.target.value)
          setSelected(0)
        }}
        onKeyDown={onKey}
      />
      <div className="option-list" id={listId} role="listbox" aria-label={texts.common.palette.open}>
        {commands.length === 0 && <div className="option-heading">{texts.common.palette.empty}</div>}
        {commands.map((command, i) => (
          <Option
            key={command.key}
            id={`${listId}-${i}`}
            command={command}
            isCurrent={i === current}
            onPoint={() => setSelected(i)}
            onChoose={() => choose(command)}
          />
        ))}
      </div>
    </>
  )
}

interface OptionProps {
  id: string
  command: Command
  isCurrent: boolean
  onPoint: () => void
  onChoose: () => void
}

function Option({ id, command, isCurrent, onPoint, onChoose }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isCurrent}
      className="option"
      {...(isCurrent ? { "data-highlighted": "" } : {})}
      onPointerMove={onPoint}
      onClick={onChoose}
    >
      <Icon name={command.icon} />
      <span className="grow">{safeDisplayName(command.label)}</span>
      <span className="quiet small">{command.group}</span>
    </div>
  )
}

/** Fast typing presses Enter before the list of its matches is there: it waits for the list. */
function useEnter(searchText: string, isSettled: boolean, choose: () => void): () => void {
  const [enteredText, setEnteredText] = useState<string>()
  useEffect(() => {
    if (enteredText === undefined) return
    if (enteredText === searchText && !isSettled) return
    setEnteredText(undefined)
    if (enteredText === searchText) choose()
  })
  return () => setEnteredText(searchText)
}

const shownCount = 6
/** Each search for names asks for several lists. */
const debounceMs = 150

/** Matches of one kind. */
interface Section {
  commands: Command[]
  isLoading: boolean
}

interface Commands {
  commands: Command[]
  /** How many of the first commands stay where they are while the rest loads. */
  settledCount: number
}

/** The matches of the search text: pages, forms, runs, projects, and all else that has a name. */
function useCommands(searchText: string, onStop: (run: RunningProject) => void): Commands {
  const navigate = useNavigate()
  const search = searchText.trim()
  const isMatch = (label: string) => label.toLowerCase().includes(search.toLowerCase())
  const { data: person } = useQuery(apiQuery("whoami"))
  const isAdmin = person?.IsAdmin ?? false
  const { palette } = texts.common
  const listed = [
    ...[...pages, ...(isAdmin ? adminPages : [])].map((page) => ({ ...page, group: palette.pages })),
    ...[...creationForms, ...(isAdmin ? adminCreationForms : [])].map((form) => ({
      ...form,
      group: palette.actions,
      icon: "plus" as const,
    })),
  ]
  const pageCommands = listed
    .filter(({ label }) => isMatch(label))
    .map(({ to, label, icon, group }) => ({ key: to, group, label, icon, run: () => void navigate({ to }) }))
  const sections: Section[] = [
    { commands: pageCommands, isLoading: false },
    useRunCommands(isMatch, onStop),
    useProjectCommands(search),
    useNamedCommands(search, isAdmin),
  ]
  const commands = sections.flatMap((section) => section.commands)
  const firstLoading = sections.findIndex(({ isLoading }) => isLoading)
  if (firstLoading === -1) return { commands, settledCount: Number.POSITIVE_INFINITY }
  return { commands, settledCount: sections.slice(0, firstLoading).flatMap((section) => section.commands).length }
}

function useRunCommands(isMatch: (label: string) => boolean, onStop: (run: RunningProject) => void): Section {
  const navigate = useNavigate()
  const { data: runs, isLoading } = useQuery(apiQuery("listRuns", { query: { pageSize: shownCount * 4 } }))
  const { palette } = texts.common
  const commands = (runs?.data ?? [])
    .flatMap((run): Command[] => {
      const [name, stop] = [projectName(run), palette.stop(projectName(run))]
      return [
        ...(isMatch(name)
          ? [
              {
                key: `run ${run.ID}`,
                group: palette.runs,
                label: name,
                icon: "play" as const,
                run: () => void navigate({ to: "/runs/$id", params: { id: run.ID } }),
              },
            ]
          : []),
        ...(canDo("stop", run) && isMatch(stop)
          ? [{ key: `stop ${run.ID}`, group: palette.actions, label: stop, icon: "stop" as const, asks: true, run: () => onStop(run) }]
          : []),
      ]
    })
    .slice(0, shownCount * 2)
  return { commands, isLoading }
}

/** A word in front of a name is a part of the action, and the server searches names only. */
function useProjectCommands(search: string): Section {
  const navigate = useNavigate()
  const { palette } = texts.common
  const begin = palette.start("").trim().toLowerCase()
  const isStart = search.toLowerCase().startsWith(`${begin} `)
  const q = isStart ? search.slice(begin.length).trim() : search
  const { data: projects, isLoading } = useQuery(apiQuery("listProjects", { query: { ...(q ? { q } : {}), pageSize: shownCount } }))
  const commands = (projects?.data ?? []).flatMap(({ ID, ProjectName }): Command[] => [
    {
      key: `start ${ID}`,
      group: palette.actions,
      label: palette.start(ProjectName),
      icon: "play",
      run: () => void navigate({ to: "/start/$project", params: { project: ID } }),
    },
    ...(isStart
      ? []
      : [
          {
            key: `project ${ID}`,
            group: palette.projects,
            label: ProjectName,
            icon: "box" as const,
            run: () => void navigate({ to: "/projects/$id", params: { id: ID } }),
          },
        ]),
  ])
  return { commands, isLoading }
}

/** Datasets, images, groups and people. They are looked for once there is a search text. */
function useNamedCommands(searchText: string, isAdmin: boolean): Section {
  const navigate = useNavigate()
  const search = useDebounced(searchText, debounceMs)
  const query = { q: search, pageSize: shownCount }
  const enabled = search !== ""
  const datasets = useQuery({ ...datasetsQuery(query), enabled })
  const images = useQuery({ ...apiQuery("listImages", { query }), enabled })
  const groups = useQuery({ ...apiQuery("listGroups", { query }), enabled })
  const people = useQuery({ ...apiQuery("listUsers", { query }), enabled: enabled && isAdmin })
  const isLoading = search !== searchText || [datasets, images, groups, people].some((list) => list.isLoading)
  if (!enabled) return { commands: [], isLoading }
  const { nav } = texts.common
  const named = (group: string, icon: IconName, to: "/datasets/$id" | "/images/$id" | "/groups/$id" | "/people/$id") => (row: Named) => ({
    key: `${to} ${row.id}`,
    group,
    label: row.name,
    icon,
    run: () => void navigate({ to, params: { id: row.id } }),
  })
  const commands = [
    ...(datasets.data?.data ?? []).map(({ ID, Name }) => ({ id: ID, name: Name })).map(named(nav.datasets, "database", "/datasets/$id")),
    ...(images.data?.data ?? []).map(({ ID, Name }) => ({ id: ID, name: Name })).map(named(nav.images, "image", "/images/$id")),
    ...(groups.data?.data ?? []).map(({ ID, GroupName }) => ({ id: ID, name: GroupName })).map(named(nav.groups, "people", "/groups/$id")),
    ...(people.data?.data ?? []).map(({ ID, UserName }) => ({ id: ID, name: UserName })).map(named(nav.people, "user", "/people/$id")),
  ]
  return { commands, isLoading }
}

interface Named {
  id: number
  name: string
}
