import { Link } from "@tanstack/react-router"
import type { FileEntry } from "../../api/files-client.ts"
import { formatBytes } from "../../api/formats.ts"
import { IconButton } from "../../components/button.tsx"
import { safeDisplayName } from "../../components/display-name.ts"
import { Icon } from "../../components/icon.tsx"
import { Menu, type MenuItem } from "../../components/overlays.tsx"
import { RelativeTime } from "../../components/values.tsx"
import { files } from "../../text/files.ts"
import { texts } from "../../text/index.ts"
import type { SortBy, Sorting } from "./entries.ts"

interface EntryTableProps {
  path: string
  entries: readonly FileEntry[]
  sorting: Sorting
  onSorting: (sorting: Sorting) => void
  chosen: ReadonlySet<string>
  onChosen: (chosen: ReadonlySet<string>) => void
  actions: (entry: FileEntry) => readonly (readonly MenuItem[])[]
}

export function EntryTable(props: EntryTableProps) {
  const { entries, sorting, onSorting, chosen, onChosen } = props
  const isAll = entries.every(({ Name }) => chosen.has(Name))
  const all = () => onChosen(new Set(isAll ? [] : entries.map(({ Name }) => Name)))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
    <section className="table-frame" aria-label={files.title} tabIndex={0}>
      <table className="table files-table">
        <thead>
          <tr>
            <th scope="col">
              <input type="checkbox" aria-label={files.chooseAll} checked={isAll} onChange={all} />
            </th>
            <SortHeader by="name" title={files.name} sorting={sorting} onSorting={onSorting} />
            <SortHeader by="size" title={files.size} sorting={sorting} onSorting={onSorting} isNumber />
            <SortHeader by="time" title={files.changed} sorting={sorting} onSorting={onSorting} />
            <th scope="col">
              <span className="visually-hidden">{texts.common.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <EntryRow key={entry.Name} {...props} entry={entry} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface SortHeaderProps {
  by: SortBy
  title: string
  sorting: Sorting
  onSorting: (sorting: Sorting) => void
  isNumber?: boolean
}

function SortHeader({ by, title, sorting, onSorting, isNumber = false }: SortHeaderProps) {
  const isSorted = sorting.by === by
  return (
    <th
      scope="col"
      className={isNumber ? "number-cell" : undefined}
      aria-sort={isSorted ? (sorting.isDescending ? "descending" : "ascending") : "none"}
    >
      <button
        type="button"
        className="sort-button"
        aria-label={files.sortBy(title)}
        onClick={() => onSorting({ by, isDescending: isSorted ? !sorting.isDescending : by !== "name" })}
      >
        {title}
        {isSorted && <span aria-hidden="true">{sorting.isDescending ? " ↓" : " ↑"}</span>}
      </button>
    </th>
  )
}

function EntryRow({ path, entry, chosen, onChosen, actions }: EntryTableProps & { entry: FileEntry }) {
  const { Name: name, IsDirectory: isDirectory, Size: size, ModifiedAt: modified } = entry
  const toggle = () => onChosen(new Set(chosen.has(name) ? [...chosen].filter((each) => each !== name) : [...chosen, name]))
  return (
    <tr>
      <td>
        <input type="checkbox" aria-label={files.choose(name)} checked={chosen.has(name)} onChange={toggle} />
      </td>
      <td>
        <span className="file-name">
          <Icon name={isDirectory ? "folder" : "file"} />
          {isDirectory ? (
            <Link
              from="/files"
              to="/files"
              search={({ sort }) => ({ path: `${path === "/" ? "" : path}/${name}`, ...(sort ? { sort } : {}) })}
            >
              {safeDisplayName(name)}
            </Link>
          ) : (
            <Link from="/files" to="/files" search={(before) => ({ ...before, path, file: name })}>
              {safeDisplayName(name)}
            </Link>
          )}
        </span>
      </td>
      <td className="number-cell">{size === undefined ? "" : formatBytes(size)}</td>
      <td className="quiet nowrap">
        <RelativeTime value={modified} />
      </td>
      <td>
        <Menu trigger={<IconButton label={files.entryActions(name)} icon="more" size="small" />} groups={actions(entry)} />
      </td>
    </tr>
  )
}
