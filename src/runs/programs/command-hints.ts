/** First words that only a shell understands. */
const shellWords: readonly string[] = [".", "alias", "cd", "eval", "exec", "export", "set", "source", "ulimit", "umask", "unset"]
const shellOperator = /^(?:&&?|\|\|?|;|<|[12]?>{1,2}(?:&[12])?)$|;$/
const assignment = /^([A-Za-z_]\w{0,100})=/

/** The cure of a failed command that was written for a shell or for root; otherwise undefined. */
export function hintOfCommand(command: readonly string[]): string | undefined {
  const [program = ""] = command
  if (program === "sudo") return "Leave out sudo: runs are never root, and ports below 1024 need no root in a run"
  const variable = assignment.exec(program)?.[1]
  if (variable !== undefined) return `Set ${variable} in the image's Env: no shell reads the Command`
  const isForShell = shellWords.includes(program) || command.some((word) => shellOperator.test(word))
  return isForShell ? 'No shell reads the Command: write sh -c "…" around it' : undefined
}
