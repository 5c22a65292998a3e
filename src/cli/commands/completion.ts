import type { Command } from "commander"
import type { Cli } from "../io/cli.ts"
import { usageError } from "../io/formats.ts"

interface Words {
  /** The words before, such as `data push`; empty for the program itself. */
  path: string
  commands: { name: string; text: string }[]
  options: string[]
}

/** Prints the completions of one shell, made from the program itself. */
export function completionHandler(program: Command) {
  return async (cli: Cli, shell: string): Promise<undefined> => {
    const print = Object.hasOwn(scripts, shell) ? scripts[shell as keyof typeof scripts] : undefined
    if (!print) throw usageError(`The shell must be ${Object.keys(scripts).join(", ")}; got ${JSON.stringify(shell)}`)
    cli.print(print(wordsOf(program)))
    return undefined
  }
}

function wordsOf(program: Command): Words[] {
  const globals = program.options.map((option) => option.long ?? "")
  const visit = (command: Command, path: string): Words[] => [
    {
      path,
      commands: command.commands.map((each) => ({
        name: each.name(),
        text: (each.summary() || each.description()).replaceAll(/['"\\`$:]/g, ""),
      })),
      options: [...command.options.map((option) => option.long ?? ""), "--help", ...(path === "" ? [] : globals)],
    },
    ...command.commands.flatMap((each) => visit(each, `${path} ${each.name()}`.trim())),
  ]
  return visit(program, "")
}

const scripts = { bash, zsh, fish }

/** The words before the cursor that name commands select the words that may follow. */
function bash(words: readonly Words[]): string {
  const paths = words.flatMap(({ path }) => (path === "" ? [] : [path.replaceAll(" ", "/")]))
  const following = words.map(({ path, commands, options }) => {
    return `    "${path.replaceAll(" ", "/")}") commands="${commands.map(({ name }) => name).join(" ")}" options="${options.join(" ")}" ;;`
  })
  return `# Completions of quayside for bash.
_quayside() {
  local word place="" commands="" options="" current="\${COMP_WORDS[COMP_CWORD]}" paths=" ${paths.join(" ")} "
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$paths" in *" \${place:+$place/}$word "*) place="\${place:+$place/}$word" ;; esac
  done
  case "$place" in
${following.join("\n")}
  esac
  case "$current" in -*) commands="$options" ;; esac
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
  [ -n "$commands" ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _quayside quayside`
}

function zsh(words: readonly Words[]): string {
  const paths = words.flatMap(({ path }) => (path === "" ? [] : [path.replaceAll(" ", "/")]))
  const following = words.map(({ path, commands, options }) => {
    const named = commands.map(({ name, text }) => `'${name}:${text}'`).join(" ")
    return `    "${path.replaceAll(" ", "/")}") commands=(${named}) options=(${options.join(" ")}) ;;`
  })
  return `#compdef quayside
# Completions of quayside for zsh.
_quayside() {
  local word place=""
  local -a commands options paths=(${paths.join(" ")})
  for word in "\${(@)words[2,CURRENT-1]}"; do
    (( \${paths[(Ie)\${place:+$place/}$word]} )) && place="\${place:+$place/}$word"
  done
  case "$place" in
${following.join("\n")}
  esac
  if [[ "$PREFIX" == -* ]]; then compadd -a options
  elif (( $#commands )); then _describe command commands
  else _files
  fi
}
if [[ "$funcstack[1]" == _quayside ]]; then _quayside
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _quayside quayside
fi`
}

function fish(words: readonly Words[]): string {
  const lines = words.flatMap(({ path, commands, options }) => {
    const names = commands.map(({ name }) => name).join(" ")
    const isHere =
      path === ""
        ? "__fish_use_subcommand"
        : [
            ...path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`),
            ...(names ? [`not __fish_seen_subcommand_from ${names}`] : []),
          ].join("; and ")
    return [
      ...commands.map(({ name, text }) => `complete -c quayside -n '${isHere}' -f -a '${name}' -d '${text}'`),
      ...options.map((option) => `complete -c quayside -n '${isHere}' -l '${option.replace(/^--/, "")}'`),
    ]
  })
  return ["# fish completion of quayside", ...lines].join("\n")
}
