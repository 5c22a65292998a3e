import { useQuery } from "@tanstack/react-query"
import { listDirectory } from "../../api/files-client.ts"
import { safeDisplayName } from "../../components/display-name.ts"
import { Icon } from "../../components/icon.tsx"
import { useDebounced } from "../../components/use-debounced.ts"
import { files } from "../../text/files.ts"

const debounceMs = 250
/** More folders are reached by typing. */
const maxShown = 100

interface FolderPickerProps {
  path: string
  onPath: (path: string) => void
  /** Folders that cannot be chosen: those that move. */
  without: ReadonlySet<string>
}

/** The folders inside a folder, and the one above: a click goes there. */
export function FolderPicker({ path, onPath, without }: FolderPickerProps) {
  const shown = useDebounced(normalize(path), debounceMs)
  const { data } = useQuery({ queryKey: ["files", shown], queryFn: ({ signal }) => listDirectory(shown, signal), gcTime: 0, retry: false })
  const above = shown.slice(0, shown.lastIndexOf("/")) || "/"
  const inside = (data?.Entries ?? [])
    .filter(({ IsDirectory }) => IsDirectory)
    .map(({ Name }) => ({ name: Name, path: `${shown === "/" ? "" : shown}/${Name}` }))
    .filter((folder) => !without.has(folder.path))
  return (
    <ul className="list folder-picker" aria-label={files.folders}>
      {shown !== "/" && <Folder icon="left" name={files.above} onChoose={() => onPath(above)} />}
      {inside.slice(0, maxShown).map((folder) => (
        <Folder key={folder.path} icon="folder" name={safeDisplayName(folder.name)} onChoose={() => onPath(folder.path)} />
      ))}
      {data && inside.length === 0 && <li className="quiet small">{files.noFolders}</li>}
    </ul>
  )
}

function Folder({ icon, name, onChoose }: { icon: "left" | "folder"; name: string; onChoose: () => void }) {
  return (
    <li>
      <button type="button" className="option wrap-anywhere" onClick={onChoose}>
        <Icon name={icon} />
        {name}
      </button>
    </li>
  )
}

function normalize(path: string): string {
  return `/${path.split("/").filter(Boolean).join("/")}`
}
