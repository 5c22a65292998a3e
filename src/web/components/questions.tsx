import { ConfirmDialog } from "./overlays.tsx"

export interface Question {
  title: string
  text: string
  /** The label of the button that confirms. */
  action: string
  onConfirm: () => void
}

interface QuestionsProps<Name extends string> {
  questions: Readonly<Record<Name, Question>>
  /** The question that is open. */
  asked: Name | undefined
  onClose: () => void
}

/** The questions that come before actions, at most one of them open. */
export function Questions<Name extends string>({ questions, asked, onClose }: QuestionsProps<Name>) {
  return Object.entries<Question>(questions).map(([name, question]) => (
    <ConfirmDialog key={name} {...question} isOpen={asked === name} onClose={onClose} />
  ))
}
