import type { Command } from "commander"
import { collectOption, examples, lazyAction, type ProgramState } from "./action.ts"

const runs = () => import("../commands/runs.ts")
const start = () => import("../commands/start.ts")
const programs = () => import("../commands/programs.ts")
const runArgument = ["<run>", "ID, or the name of its project"] as const

/** Runs: a started project, from its start to its end. */
export function addRunCommands(program: Command, state: ProgramState): void {
  program.commandsGroup("Runs:")
  program
    .command("ls")
    .summary("List your runs")
    .description("List your runs that are queued, starting or running.")
    .option("-a, --all", "also those that have ended")
    .option("--everyone", "those of all people, as far as you may see them")
    .addHelpText("after", examples(["IDs of all that is up, for a script", "ls --json | jq '.[].ID'"]))
    .action(lazyAction(state, async () => (await runs()).list))
  program
    .command("start")
    .argument("<project>", "name or ID")
    .summary("Start a project")
    .description("Start a project. On a terminal, the steps are shown until its program answers.")
    .option("-w, --wait", "wait until its program answers, also without a terminal")
    .option("--no-wait", "return as soon as the start is accepted")
    .option("--cpus <number>", "how many CPUs")
    .option("--memory <size>", "how much memory, such as 4GiB")
    .option("--gpus <number>", "how many GPUs")
    .option("--gpu-memory <size>", "memory of each GPU, such as 16GiB")
    .option("--open", "open its address in a browser when it is ready")
    .addHelpText(
      "after",
      examples(
        ["Start a project with a GPU and 16 GiB of memory", 'start "Image classes" --gpus 1 --memory 16GiB'],
        ["Start it in a script, and print its address", "start 7 --wait --json | jq -r .URL"],
      ),
    )
    .action(lazyAction(state, async () => (await start()).start))
  addStopCommands(program, state)
  addOutputCommands(program, state)
  addProgramCommands(program, state)
}

function addStopCommands(program: Command, state: ProgramState): void {
  program
    .command("stop")
    .argument("<runs...>", "IDs, or names of their projects")
    .summary("Stop runs")
    .description("Stop runs, and wait until nothing of them is left. Stopping what has ended is fine.")
    .action(lazyAction(state, async () => (await runs()).stop))
  program
    .command("open")
    .argument(...runArgument)
    .option("--print", "print the address instead of opening a browser")
    .summary("Open a run in your browser")
    .description("Open a run in your browser; without a terminal, print its address.")
    .action(lazyAction(state, async () => (await runs()).open))
}

function addOutputCommands(program: Command, state: ProgramState): void {
  program
    .command("logs")
    .argument(...runArgument)
    .option("-f, --follow", "go on with what it prints, until it ends")
    .option("-n, --tail <lines>", "only the last lines")
    .option("--since <time>", "only what is younger, such as 10m or 2026-01-31T12:00:00Z")
    .option("-t, --timestamps", "each line with its time")
    .summary("Show what a run prints")
    .description("Show what a run prints, also after its end. Its standard error goes to standard error.")
    .addHelpText("after", examples(["The last 100 lines, and then what comes", "logs -f -n 100 Notebook"]))
    .action(lazyAction(state, async () => (await runs()).logs))
  program
    .command("stats")
    .argument(...runArgument)
    .option("-w, --watch", "read again every two seconds, until it ends")
    .summary("Show what a run uses")
    .description("Show how many CPUs, how much memory, disk and GPU a run uses now.")
    .action(lazyAction(state, async () => (await runs()).stats))
}

function addProgramCommands(program: Command, state: ProgramState): void {
  program
    .command("shell")
    .argument(...runArgument)
    .option("--workdir <directory>", "where it starts")
    .summary("Open a shell in a run")
    .description("Open a shell in a run. If the connection is lost, it comes back where it was.")
    .action(lazyAction(state, async () => (await programs()).shell))
  program
    .command("exec")
    .argument(...runArgument)
    .argument("<command...>", "the program and its arguments, after --")
    .option("-i, --interactive", "pass standard input on")
    .option("-t, --tty", "give the program a terminal")
    .option("--env <key=value>", "an environment variable; may repeat", collectOption)
    .option("--workdir <directory>", "where it starts")
    .summary("Run a program in a run")
    .description("Run a program in a run, and exit with its exit code.")
    .addHelpText(
      "after",
      examples(
        ["List the GPUs of a run", "exec Notebook -- nvidia-smi"],
        ["Send a file to a program", "exec -i Notebook -- python3 - < train.py"],
      ),
    )
    .action(lazyAction(state, async () => (await programs()).exec))
  program
    .command("cp")
    .argument("<source>", "a file or folder here, or RUN:/PATH")
    .argument("<directory>", "RUN:/PATH, or a folder here")
    .option("--force", "replace what is there already")
    .summary("Copy files to or from a run")
    .description("Copy a file or folder into a directory of a run, or back.")
    .addHelpText("after", examples(["Into a run", "cp ./src Notebook:/tmp"], ["From a run", "cp Notebook:/tmp/results ."]))
    .action(lazyAction(state, async () => (await import("../commands/copy.ts")).copy))
  program
    .command("forward")
    .argument(...runArgument)
    .argument("[ports...]", "PORT, LOCAL:REMOTE, LOCAL:HOST or LOCAL:HOST:REMOTE; without LOCAL, a free port here")
    .option(
      "--back <port>",
      "show a port of this machine, or of a host that it reaches, at localhost of the run; LOCAL is the run's port; may repeat",
      collectOption,
    )
    .summary("Forward ports of this machine to a run, or back")
    .description(
      "Forward TCP ports of this machine to ports of a run, until Ctrl-C, or to a host as the run reaches it. For a host, and for programs that listen at 127.0.0.1, the image needs bash, python3 or nc. Other machines cannot connect to the ports. With --back, programs of the run reach a port of this machine at their own localhost.",
    )
    .addHelpText(
      "after",
      examples(
        ["TensorBoard of a run at http://localhost:6006", "forward Notebook 6006"],
        ["Also port 5432 of the host db, as the run reaches it", "forward Notebook 6006 5432:db"],
        ["A database of this machine at localhost:5432 of the run", "forward Notebook --back 5432"],
      ),
    )
    .action(lazyAction(state, async () => (await import("../commands/forward.ts")).forward))
  addSshCommands(program, state)
}

function addSshCommands(program: Command, state: ProgramState): void {
  const ssh = () => import("../commands/ssh.ts")
  program
    .command("ssh-config")
    .option("--print", "print the block, and write nothing")
    .summary("Let ssh, rsync, git and editors reach your runs")
    .description("Make keys for ssh on this machine, and include a block for NAME.quayside in ~/.ssh/config. Says what it wrote.")
    .addHelpText("after", examples(["Once on each machine; then ssh reaches a run", "ssh-config && ssh Notebook.quayside"]))
    .action(lazyAction(state, async () => (await ssh()).sshConfig))
  program
    .command("ssh-proxy")
    .argument("<host>", "NAME.quayside, where NAME is the ID of a run or the name of its project")
    .summary("Speak ssh on standard input and output")
    .description("The ProxyCommand that ssh-config writes: it speaks ssh on standard input and output, in place of a run.")
    .action(lazyAction(state, async () => (await ssh()).sshProxy))
}
