/**
 * Runs a program in a container by its shell, since an exec of the cluster can set neither
 * variables nor a directory, and reports no process ID. The first line of output is `Q` and the
 * process ID, which is also the session's, or `Q` and a word that says what is missing.
 *
 * Parameters: the directory or nothing, the number of variables, each variable, and the command.
 */
const startScript = `
d=$1 n=$2
shift 2
while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n - 1)); done
[ -z "$d" ] || cd "$d" || { echo Qdirectory; exit 126; }
command -v -- "$1" >/dev/null 2>&1 || { echo Qmissing; exit 127; }
echo "Q$$"
exec "$@"
`

/**
 * Signals the processes of a session, or its foreground process group, and prints how many the
 * session has. Parameters: the session, the signal, and `all` or `foreground`.
 */
const signalScript = `
s=$1 sig=$2 to=$3 left=0 fg=
for f in /proc/[0-9]*/stat; do
  read -r line <"$f" || continue
  set -- \${line##*) }
  [ "$4" = "$s" ] && [ "$1" != Z ] || continue
  left=$((left + 1))
  [ "$6" -gt 0 ] && fg=$6
done 2>/dev/null
for f in /proc/[0-9]*/stat; do
  read -r line <"$f" || continue
  p=\${line%% *}
  set -- \${line##*) }
  [ "$4" = "$s" ] && [ "$1" != Z ] || continue
  [ "$to" = all ] || [ "$3" = "\${fg:-$s}" ] || continue
  [ "$sig" = 0 ] || kill -s "$sig" "$p"
done 2>/dev/null
echo "$left"
`

export interface ScriptRequest {
  command: readonly string[]
  env?: Readonly<Record<string, string>> | undefined
  workDir?: string | undefined
}

export function startCommand({ command, env = {}, workDir = "" }: ScriptRequest): string[] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return ["/bin/sh", "-c", startScript, "sh", workDir, String(variables.length), ...variables, ...command]
}

export function signalCommand(session: number, signal: string, to: "all" | "foreground"): string[] {
  return ["/bin/sh", "-c", signalScript, "sh", String(session), signal.replace(/^SIG/, ""), to]
}
