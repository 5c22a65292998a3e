import { useMutation } from "@tanstack/react-query"
import { type FormEvent, type ReactNode, useState } from "react"
import { createDirectory, type FileEntry, moveEntry } from "../../api/files-client.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/feedback.tsx"
import { TextField } from "../../components/fields.tsx"
import { Dialog } from "../../components/overlays.tsx"
import { showToast } from "../../components/toast.tsx"
import { files } from "../../text/files.ts"
import { texts } from "../../text/index.ts"
import { nameError } from "./entries.ts"
import { FolderPicker } from "./folder-picker.tsx"

interface DialogProps {
  path: string
  onClose: () => void
  onDone: () => void
}

/** Asks for the name of a new folder, or for a new name of an entry. */
export function NameDialog({ path, entry, onClose, onDone }: DialogProps & { entry?: FileEntry }) {
  const [name, setName] = useState(entry?.Name ?? "")
  const [isTried, setTried] = useState(false)
  const problem = nameError(name)
  const save = useMutation({
    mutationFn: () => (entry ? moveEntry(`${path}/${entry.Name}`, `${path}/${name}`) : createDirectory(`${path}/${name}`)),
    onSuccess: onDone,
  })
  return (
    <FormDialog
      title={entry ? files.rename : files.newFolder}
      action={entry ? files.rename : files.create}
      error={save.error}
      isBusy={save.isPending}
      onClose={onClose}
      onSubmit={() => {
        setTried(true)
        if (problem === undefined) save.mutate()
      }}
    >
      <TextField
        label={files.name}
        value={name}
        onValue={setName}
        error={isTried && problem ? files.nameErrors[problem] : undefined}
        autoFocus
        maxLength={255}
      />
    </FormDialog>
  )
}

/** Asks where entries move to. After a failure, the rest can move elsewhere. */
export function MoveDialog({ path, names, onClose, onDone, onChange }: DialogProps & { names: readonly string[]; onChange: () => void }) {
  const [target, setTarget] = useState(path)
  const [left, setLeft] = useState(names)
  const move = useMutation({
    mutationFn: async () => {
      const folder = `/${target.split("/").filter(Boolean).join("/")}`
      for (const name of left) {
        await moveEntry(`${path}/${name}`, `${folder}/${name}`)
        setLeft((before) => before.filter((other) => other !== name))
      }
      return { folder, moved: left }
    },
    onSuccess: ({ folder, moved }) => {
      showToast(files.moved(moved.length), { undo: () => moveAll(moved, folder, path).finally(onDone) })
      onDone()
    },
    onError: onChange,
  })
  return (
    <FormDialog
      title={files.move}
      action={files.move}
      error={move.error}
      isBusy={move.isPending}
      onClose={onClose}
      onSubmit={() => move.mutate()}
    >
      <TextField label={files.moveTo} hint={files.moveHint} value={target} onValue={setTarget} autoFocus maxLength={4096} />
      <FolderPicker path={target} onPath={setTarget} without={new Set(names.map((name) => `${path}/${name}`))} />
    </FormDialog>
  )
}

async function moveAll(names: readonly string[], from: string, to: string): Promise<void> {
  for (const name of names) await moveEntry(`${from}/${name}`, `${to}/${name}`)
}

interface FormDialogProps {
  title: string
  action: string
  error: Error | null
  isBusy: boolean
  onClose: () => void
  onSubmit: () => void
  children: ReactNode
}

function FormDialog({ title, action, error, isBusy, onClose, onSubmit, children }: FormDialogProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSubmit()
  }
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {children}
        {error && <ErrorState error={error} />}
        <div className="row row-end">
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
