import type { ComponentProps, FormEvent } from "react"
import { Conflicts } from "./conflicts.tsx"
import { SaveRow } from "./save-row.tsx"
import type { EditingState } from "./use-editing.ts"

interface EditFormProps<D extends object> extends Omit<ComponentProps<"form">, "form" | "onSubmit"> {
  form: EditingState<D>
  labels: { readonly [K in keyof D]: string }
}

/** A form that changes an object: conflicts with others' changes, the fields, and saving. */
export function EditForm<D extends object>({ form, labels, children, ...attributes }: EditFormProps<D>) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    form.saving.mutate()
  }
  return (
    <form {...attributes} onSubmit={submit}>
      <Conflicts editing={form.editing} onEditing={form.setEditing} labels={labels} />
      {children}
      <SaveRow form={form} />
    </form>
  )
}
