import { useNavigate, useSearch } from "@tanstack/react-router"
import { type DragEvent, useEffect, useMemo, useRef, useState } from "react"
import { type DirectoryList, deleteEntry, download, type FileEntry } from "../../api/files-client.ts"
import { RecentFiles } from "../../api/recent-files.ts"
import { Button } from "../../components/button.tsx"
import { safeDisplayName } from "../../components/display-name.ts"
import { EmptyState, Note } from "../../components/feedback.tsx"
import { ConfirmDialog, Menu } from "../../components/overlays.tsx"
import { Pager } from "../../components/table.tsx"
import { showError, showToast } from "../../components/toast.tsx"
import { files } from "../../text/files.ts"
import { DebouncedSearchField } from "../listing/debounced-search-field.tsx"
import { chosenFiles, type DroppedItems, readDropped } from "./dropped-files.ts"
import { filterEntries, type Sorting, sortEntries } from "./entries.ts"
import { EntryTable } from "./entry-table.tsx"
import { type FilesSearch, parseSorting, toSortParam } from "./files-search.ts"
import { MoveDialog, NameDialog } from "./name-dialog.tsx"
import { Preview } from "./preview/preview.tsx"
import { UploadPanel } from "./upload-panel.tsx"
import { useUploads } from "./use-uploads.ts"

const pageSize = 200

interface BrowserProps {
  path: string
  /** The name of the file whose preview the address opens. */
  file: string | undefined
  userName: string
  list: DirectoryList
  onChange: () => void
}

type Open = { kind: "folder" } | { kind: "rename"; entry: FileEntry } | { kind: "move" | "delete"; names: readonly string[] }

/** A directory: its entries, what can be done with them, and uploads into it. */
export function FileBrowser({ path, file, userName, list, onChange }: BrowserProps) {
  const canWrite = list.Level === "write"
  const search = useSearch({ from: "/shell/files" })
  const navigate = useNavigate({ from: "/files" })
  const find = (searchText: string) => {
    const { q: _q, page: _page, ...rest } = search
    void navigate({ search: { ...rest, path, ...(searchText === "" ? {} : { q: searchText }) }, replace: true })
  }
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [open, setOpen] = useState<Open>()
  const uploads = useUploads(path, onChange)
  const recent = useMemo(() => new RecentFiles(userName), [userName])
  const add = (dropped: DroppedItems) => {
    recent.add(dropped.files.map((each) => each.path))
    uploads.add(dropped)
  }
  const close = () => setOpen(undefined)
  const finish = () => {
    close()
    setChosen(new Set())
    onChange()
  }
  return (
    <DropZone isActive={canWrite} onDrop={(transfer) => void readDropped(transfer, path).then(add, showError)}>
      <div className="row files-bar">
        <DebouncedSearchField label={files.search} value={search.q ?? ""} onValue={find} />
        <span className="grow" />
        {chosen.size > 0 ? (
          <ChosenActions path={path} names={[...chosen]} canWrite={canWrite} onOpen={setOpen} />
        ) : (
          canWrite && <AddActions path={path} onFiles={add} onFolder={() => setOpen({ kind: "folder" })} />
        )}
      </div>
      {!canWrite && <p className="quiet small">{files.readOnly}</p>}
      <UploadPanel uploads={uploads} />
      <Entries {...{ path, list, search, chosen, canWrite }} onChosen={setChosen} onOpen={setOpen} />
      {open?.kind === "folder" && <NameDialog path={path} onClose={close} onDone={finish} />}
      {open?.kind === "rename" && <NameDialog path={path} entry={open.entry} onClose={close} onDone={finish} />}
      {open?.kind === "move" && <MoveDialog path={path} names={open.names} onClose={close} onDone={finish} onChange={onChange} />}
      {file !== undefined && <FilePreview {...{ path, file, list, recent }} />}
      <ConfirmDialog
        title={files.deleteTitle(open?.kind === "delete" ? open.names.length : 1)}
        text={files.deleteText(open?.kind === "delete" ? shortList(open.names) : "")}
        action={files.delete}
        isOpen={open?.kind === "delete"}
        onClose={close}
        onConfirm={() => open?.kind === "delete" && void deleteAll(path, open.names).catch(showError).finally(finish)}
      />
    </DropZone>
  )
}

/** The preview of the address's file, or a sentence if the folder has none of this name. */
function FilePreview({ path, file, list, recent }: { path: string; file: string; list: DirectoryList; recent: RecentFiles }) {
  const navigate = useNavigate({ from: "/files" })
  const entry = list.Entries.find(({ Name, IsDirectory }) => Name === file && !IsDirectory)
  const filePath = `${path === "/" ? "" : path}/${file}`
  useEffect(() => {
    if (entry) recent.add([filePath])
  }, [entry, recent, filePath])
  const close = () => void navigate({ to: "/files", search: ({ file: _file, ...rest }) => ({ ...rest, path }), replace: true })
  if (entry) return <Preview path={filePath} entry={entry} onClose={close} />
  return list.IsComplete ? <Note tone="warn">{files.noFile(safeDisplayName(file))}</Note> : null
}

function shortList(names: readonly string[]): string {
  return names.length <= 5 ? names.join(", ") : `${names.slice(0, 5).join(", ")} …`
}

async function deleteAll(path: string, names: readonly string[]): Promise<void> {
  for (const name of names) await deleteEntry(`${path}/${name}`)
  showToast(files.deleted(names.length))
}

interface EntriesProps {
  path: string
  list: DirectoryList
  search: FilesSearch
  chosen: ReadonlySet<string>
  canWrite: boolean
  onChosen: (chosen: ReadonlySet<string>) => void
  onOpen: (open: Open) => void
}

function Entries({ path, list, search, chosen, canWrite, onChosen, onOpen }: EntriesProps) {
  const navigate = useNavigate({ from: "/files" })
  const { q: wanted = "", page = 1, sort: _sort, ...place } = search
  const sorting = parseSorting(search)
  const { by, isDescending } = sorting
  const sorted = useMemo(() => sortEntries(filterEntries(list.Entries, wanted), { by, isDescending }), [list, wanted, by, isDescending])
  const pageCount = Math.max(1, Math.ceil(sorted.length / pageSize))
  const current = Math.min(page, pageCount)
  const searchText = wanted === "" ? {} : { q: wanted }
  const onSorting = (next: Sorting) =>
    void navigate({ search: { ...place, ...searchText, path, ...toSortParam(next) }, resetScroll: false })
  const onPage = (next: number) => void navigate({ search: { ...search, path, page: next } })
  if (list.Entries.length === 0)
    return <EmptyState title={files.empty}>{<p>{canWrite ? files.emptyHint : files.emptyReadOnly}</p>}</EmptyState>
  if (sorted.length === 0) return <p className="quiet wrap-anywhere">{files.noMatch(wanted)}</p>
  return (
    <>
      {!list.IsComplete && <Note tone="warn">{files.incomplete}</Note>}
      <EntryTable
        path={path}
        entries={sorted.slice((current - 1) * pageSize, current * pageSize)}
        sorting={sorting}
        onSorting={onSorting}
        chosen={chosen}
        onChosen={onChosen}
        actions={(entry) => entryActions({ path, entry, canWrite, onOpen })}
      />
      {pageCount > 1 && <Pager page={current} pageCount={pageCount} onPage={onPage} />}
    </>
  )
}

function entryActions(options: { path: string; entry: FileEntry; canWrite: boolean; onOpen: (open: Open) => void }) {
  const { path, entry, canWrite, onOpen } = options
  const names = [entry.Name]
  const save = entry.IsDirectory
    ? { label: files.downloadZip, icon: "download" as const, onSelect: () => void download(`${path}/${entry.Name}`, []).catch(showError) }
    : { label: files.download, icon: "download" as const, onSelect: () => void download(`${path}/${entry.Name}`).catch(showError) }
  if (!canWrite) return [[save]]
  return [
    [save],
    [
      { label: files.rename, icon: "edit" as const, onSelect: () => onOpen({ kind: "rename", entry }) },
      { label: files.move, icon: "folder" as const, onSelect: () => onOpen({ kind: "move", names }) },
      { label: files.delete, icon: "trash" as const, tone: "danger" as const, onSelect: () => onOpen({ kind: "delete", names }) },
    ],
  ]
}

interface ChosenProps {
  path: string
  names: readonly string[]
  canWrite: boolean
  onOpen: (open: Open) => void
}

function ChosenActions({ path, names, canWrite, onOpen }: ChosenProps) {
  return (
    <>
      <span className="quiet">{files.chosen(names.length)}</span>
      <Button icon="download" onClick={() => void download(path, names).catch(showError)}>
        {files.downloadZip}
      </Button>
      {canWrite && (
        <>
          <Button icon="folder" onClick={() => onOpen({ kind: "move", names })}>
            {files.move}
          </Button>
          <Button icon="trash" kind="danger" onClick={() => onOpen({ kind: "delete", names })}>
            {files.delete}
          </Button>
        </>
      )}
    </>
  )
}

function AddActions({ path, onFiles, onFolder }: { path: string; onFiles: (dropped: DroppedItems) => void; onFolder: () => void }) {
  const input = useRef<HTMLInputElement>(null)
  const folderInput = useRef<HTMLInputElement>(null)
  const choose = (list: FileList | null) => list && onFiles(chosenFiles(list, path))
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={files.uploadFiles}
        onChange={({ target }) => {
          choose(target.files)
          target.value = ""
        }}
      />
      <input
        ref={(element) => {
          folderInput.current = element
          if (element) element.webkitdirectory = true
        }}
        type="file"
        hidden
        aria-label={files.uploadFolder}
        onChange={({ target }) => {
          choose(target.files)
          target.value = ""
        }}
      />
      <Button icon="folder" onClick={onFolder}>
        {files.newFolder}
      </Button>
      <Menu
        trigger={
          <Button kind="primary" icon="plus">
            {files.upload}
          </Button>
        }
        groups={[
          [
            { label: files.uploadFiles, onSelect: () => input.current?.click() },
            { label: files.uploadFolder, onSelect: () => folderInput.current?.click() },
          ],
        ]}
      />
    </>
  )
}

interface DropZoneProps {
  isActive: boolean
  onDrop: (transfer: DataTransfer) => void
  children: React.ReactNode
}

function DropZone({ isActive, onDrop, children }: DropZoneProps) {
  const [isOver, setOver] = useState(false)
  const isFiles = (event: DragEvent) => isActive && event.dataTransfer.types.includes("Files")
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons do the same by keyboard
    <div
      className="drop-zone"
      data-over={isOver ? "" : undefined}
      onDragOver={(event) => {
        if (!isFiles(event)) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={(event) => !event.currentTarget.contains(event.relatedTarget as Node | null) && setOver(false)}
      onDrop={(event) => {
        if (!isFiles(event)) return
        event.preventDefault()
        setOver(false)
        onDrop(event.dataTransfer)
      }}
    >
      {isOver && <p className="drop-hint">{files.dropHere}</p>}
      {children}
    </div>
  )
}
