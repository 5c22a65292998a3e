import type { Command } from "commander"
import { addCommandGroup, collectOption, examples, lazyAction, type ProgramState } from "./action.ts"

const resources = () => import("../commands/resources.ts")
const data = () => import("../commands/data.ts")
const grants = () => import("../commands/grants.ts")

/** Projects, images, datasets and who may use them. */
export function addResourceCommands(program: Command, state: ProgramState): void {
  program.commandsGroup("Projects and data:")
  projectCommands(program, state)
  imageCommands(program, state)
  dataCommands(program, state)
  syncCommand(program, state)
  program
    .command("mount")
    .argument("<dataset>", "name or ID; `home` is your home")
    .argument("[directory]", "where to mount it; default: ./NAME")
    .option("--run", "run the command instead of printing it")
    .summary("Mount a dataset by WebDAV")
    .description("Print the command by which this system mounts a dataset, or your home; with --run, run it.")
    .addHelpText("after", examples(["Mount a dataset here", "mount spectra --run"]))
    .action(lazyAction(state, async () => (await import("../commands/mount.ts")).mount))
  grantCommands(program, state)
}

/** The commands that projects, images and datasets share. */
function addCommonCommands(commands: Command, state: ProgramState, kind: "project" | "image" | "data"): void {
  const noun = kind === "data" ? "dataset" : kind
  const argument = [`<${noun}>`, "name or ID"] as const
  commands
    .command("ls")
    .description(`List the ${noun}s that you can see.`)
    .option("--mine", "only your own")
    .option("-q, --query <words>", "only those whose name or comment has these words")
    .option("--deleted", "those that you deleted and can restore")
    .action(lazyAction(state, async () => (await resources()).listHandler(kind)))
  commands
    .command("show")
    .argument(...argument)
    .description(`Show one ${noun}.`)
    .action(lazyAction(state, async () => (await resources()).showHandler(kind)))
  commands
    .command("rm")
    .argument(...argument)
    .option("-y, --yes", "do not ask")
    .description(`Delete a ${noun}. \`restore\` undoes it.`)
    .action(lazyAction(state, async () => (await resources()).removeHandler(kind)))
  commands
    .command("restore")
    .argument("<ID>")
    .description(`Undo the deletion of a ${noun}.`)
    .action(lazyAction(state, async () => (await resources()).restoreHandler(kind)))
}

function projectCommands(program: Command, state: ProgramState): void {
  const project = addCommandGroup(program, "project", "Manage projects")
  addCommonCommands(project, state, "project")
  for (const verb of ["create", "edit"] as const) {
    project
      .command(verb)
      .argument(verb === "create" ? "<name>" : "<project>", verb === "create" ? "the project's name" : "name or ID")
      .description(verb === "create" ? "Create a project." : "Change a project; what is not named stays.")
      .option("--image <image>", "name or ID of its image")
      .option("--type <type>", "jupyterlab, jupyternotebook, jupyter, vscode, novnc or http")
      .option("--data <dataset[:path]>", "a dataset, and where to mount it; may repeat", collectOption)
      .option("--group <name>", "the group whose members may start it")
      .option("--comment <text>")
      .option("--public", "everybody may see and start it")
      .option("--no-public")
      .addHelpText(
        "after",
        verb === "create"
          ? examples(["A notebook with a dataset", "project create Fit --type jupyterlab --image Torch --data spectra"])
          : "",
      )
      .action(lazyAction(state, async () => (await resources())[verb === "create" ? "createProject" : "editProject"]))
  }
  project
    .command("copy")
    .argument("<project>", "name or ID")
    .description("Copy a project; the copy is yours.")
    .action(lazyAction(state, async () => (await resources()).copyProject))
  project
    .command("release")
    .argument("<project>", "name or ID")
    .description("Release your code as it is now to the others who start the project.")
    .action(lazyAction(state, async () => (await resources()).releaseProject))
}

function imageCommands(program: Command, state: ProgramState): void {
  const image = addCommandGroup(program, "image", "Manage images")
  addCommonCommands(image, state, "image")
  const create = image
    .command("create")
    .argument("<name>", "the image's name")
    .argument("<reference>", "such as docker.io/library/python:3.13")
    .description("Create an image.")
    .action(lazyAction(state, async () => (await resources()).createImage))
  const edit = image
    .command("edit")
    .argument("<image>", "name or ID")
    .option("--reference <reference>", "such as docker.io/library/python:3.13")
    .description("Change an image; what is not named stays.")
    .action(lazyAction(state, async () => (await resources()).editImage))
  for (const command of [create, edit])
    command
      .option("--command <command>", "what to run in it")
      .option("--env <key=value>", "an environment variable; may repeat", collectOption)
      .option("--port <port>", "the port that its program listens on")
      .option("--comment <text>")
      .option("--public", "everybody may see and use it")
      .option("--no-public")
  image
    .command("pull")
    .argument("<image>", "name or ID")
    .description("Fetch an image now, so that its first start is fast.")
    .action(lazyAction(state, async () => (await resources()).pullImage))
}

function dataCommands(program: Command, state: ProgramState): void {
  const commands = addCommandGroup(program, "data", "Manage datasets and their files")
  addCommonCommands(commands, state, "data")
  commands
    .command("create")
    .argument("<name>")
    .option("--comment <text>")
    .option("--public", "every signed-in person may read it")
    .description("Create a dataset.")
    .action(lazyAction(state, async () => (await data()).create))
  for (const verb of ["push", "pull"] as const) {
    const isPush = verb === "push"
    const command = commands
      .command(verb)
      .description(
        isPush
          ? "Upload a file or a folder. Files whose size and time are the same are skipped; large ones go on where they stopped."
          : "Download a dataset, or a file or folder of it. Files whose size and time are the same are skipped.",
      )
    if (isPush) command.argument("<path>", "file or folder here").argument("<dataset[:path]>", "name or ID, and a path in it")
    else
      command
        .argument("<dataset[:path]>", "name or ID, and a path in it")
        .argument("[path]", "folder here; default: ./NAME, unless that is hidden or has files")
    command
      .option("--checksum", "compare contents by SHA-256, not size and time; reads every file on both sides")
      .option("-j, --parallel <number>", "how many files at once", "4")
      .option("-n, --dry-run", "say what would be sent, and send nothing")
      .addHelpText(
        "after",
        isPush
          ? examples(
              ["Upload a folder", "data push ./spectra spectra"],
              ["Upload a file into a folder", "data push a.csv spectra:raw/2026"],
            )
          : examples(["Download a dataset", "data pull spectra"], ["Only one of its folders", "data pull spectra:raw ./raw"]),
      )
      .action(lazyAction(state, async () => (await data())[verb]))
  }
}

function syncCommand(program: Command, state: ProgramState): void {
  program
    .command("sync")
    .argument("<folder>", "folder here")
    .argument("<dataset[:path]>", "name or ID, and a path in it")
    .option("-w, --watch", "go on with what changes, until Ctrl-C")
    .option("-n, --dry-run", "say what would be done, and do nothing")
    .option("--force", "also if one side has lost all its files")
    .summary("Keep a folder and a dataset the same")
    .description(
      "Send what changed here, receive what changed at the server, and remove what was removed on the other side. A file that changed on both sides keeps both: yours gets the name NAME.conflict-TIME. Lines of .quaysideignore are those of .gitignore; files of that name are neither sent nor received.",
    )
    .addHelpText("after", examples(["Keep them the same while you work", "sync --watch ./spectra spectra:raw"]))
    .action(lazyAction(state, async () => (await import("../commands/sync.ts")).sync))
}

function grantCommands(program: Command, state: ProgramState): void {
  const grant = addCommandGroup(program, "grant", "Share with people and groups")
  grant
    .command("ls")
    .description("List grants on what is yours, and those to you and your groups.")
    .action(lazyAction(state, async () => (await grants()).listGrants))
  const create = grant
    .command("create")
    .argument("<access>", "read, use or write")
    .option("--until <time>", "until when, such as 7d; default: until it is revoked")
    .description("Grant a person or a group a right on a project, image, dataset or run.")
    .addHelpText("after", examples(["Bob may read a dataset for a week", "grant create read --data spectra --user bob --until 7d"]))
    .action(lazyAction(state, async () => (await grants()).createGrant))
  for (const kind of ["project", "image", "data", "run"]) create.option(`--${kind} <${kind === "data" ? "dataset" : kind}>`, "name or ID")
  create.option("--user <name>", "the person").option("--group <name>", "the group")
  grant
    .command("rm")
    .argument("<ID>")
    .description("Revoke a grant.")
    .action(lazyAction(state, async () => (await grants()).removeGrant))
}
