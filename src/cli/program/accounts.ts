import type { Command } from "commander"
import { addCommandGroup, collectOption, examples, lazyAction, type ProgramState } from "./action.ts"

const account = () => import("../commands/account.ts")
const people = () => import("../commands/people.ts")

/** Signing in, and the servers that one is signed in to. */
export function addAccountCommands(program: Command, state: ProgramState): void {
  program.commandsGroup("Getting started:")
  program
    .command("login")
    .argument("[server]", "the server's address; without it, that of the current context")
    .summary("Sign in to a server")
    .description(
      "Sign in to a server. Your browser opens, and you allow it there. The token that this makes is stored in a file that only you can read. Without a browser on this machine, pass a token, or use --no-browser to paste one.",
    )
    .option("--token <token>", "sign in with this token; other people may see it in the list of processes")
    .option("--token-stdin", "read the token from standard input")
    .option("--name <name>", "name of the context; default: the server's host name")
    .option("--no-browser", "ask for a token instead of opening a browser")
    .addHelpText(
      "after",
      examples(
        ["Sign in by your browser", "login https://quayside.example.com"],
        ["Sign in with a token from a file", "login https://quayside.example.com --token-stdin < token.txt"],
      ),
    )
    .action(lazyAction(state, async () => (await account()).login))
  program
    .command("logout")
    .argument("[context]", "name of the context; default: the current one")
    .summary("Sign out, and forget the token")
    .description("Sign out: forget the token of a context. A token that you passed yourself works until you revoke it in the web UI.")
    .action(lazyAction(state, async () => (await account()).logout))
  program
    .command("whoami")
    .summary("Show who you are, and your limits")
    .description("Show who you are at which server, your groups and your limits.")
    .action(lazyAction(state, async () => (await account()).whoami))
  const context = addCommandGroup(program, "context", "Switch between servers")
  context
    .command("ls")
    .description("List the servers that you are signed in to.")
    .action(lazyAction(state, async () => (await account()).listContexts))
  context
    .command("use")
    .argument("<name>")
    .description("Use this server from now on.")
    .action(lazyAction(state, async () => (await account()).chooseContext))
  context
    .command("rm")
    .argument("<name>")
    .description("Forget a server and its token.")
    .action(lazyAction(state, async () => (await account()).removeContext))
  sessionCommands(program, state)
  program
    .command("doctor")
    .summary("Check this machine, the network and the server")
    .description("Check in turn all that the command line needs. Each check names the page of the documentation that helps.")
    .action(lazyAction(state, async () => (await import("../commands/doctor.ts")).doctor))
}

function sessionCommands(program: Command, state: ProgramState): void {
  const sessions = () => import("../commands/sessions.ts")
  const session = addCommandGroup(program, "session", "See and end sign-ins of browsers")
  session
    .command("ls")
    .description("List the browsers that you are signed in with.")
    .option("--user <name>", "those of this person; for administrators")
    .option("--all", "everybody's; for administrators")
    .action(lazyAction(state, async () => (await sessions()).listSessions))
  session
    .command("end")
    .argument("[id]", "ID of the session, as in `session ls`")
    .description("End a session: the browser has to sign in again. Tokens stay, such as that of this program.")
    .option("--all", "every session of yours")
    .option("--user <name>", "with --all: of this person; for administrators")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", examples(["Sign out everywhere, such as after losing a laptop", "session end --all"]))
    .action(lazyAction(state, async () => (await sessions()).endSession))
}

/** Accounts, groups and the audit. */
export function addAdministrationCommands(program: Command, state: ProgramState): void {
  program.commandsGroup("Administration:")
  userCommands(program, state)
  groupCommands(program, state)
  program
    .command("audit")
    .summary("Read the audit log")
    .description("Show who changed what, newest first, and what was refused. For administrators.")
    .option("--user <name>", "only this person's rows")
    .option("--action <name>", "only this action, such as run:stop")
    .option("--since <time>", "only at or after this time, such as 2h or 2026-01-31T12:00:00Z")
    .option("--until <time>", "only at or before this time")
    .option("-n, --limit <number>", "the most rows", "50")
    .addHelpText("after", examples(["Refusals and changes of the last hour", "audit --since 1h"]))
    .action(lazyAction(state, async () => (await people()).listAudit))
}

function userCommands(program: Command, state: ProgramState): void {
  const user = addCommandGroup(program, "user", "Manage accounts")
  user
    .command("ls")
    .description("List accounts.")
    .action(lazyAction(state, async () => (await people()).listUsers))
  user
    .command("show")
    .argument("<user>", "name or ID")
    .description("Show one account.")
    .action(lazyAction(state, async () => (await people()).showUser))
  for (const verb of ["create", "edit"] as const) {
    user
      .command(verb)
      .argument(verb === "create" ? "<name>" : "<user>", verb === "create" ? "the user name" : "name or ID")
      .description(verb === "create" ? "Create an account." : "Change an account; what is not named stays.")
      .option("--email <address>")
      .option("--comment <text>")
      .option("--admin", "the person administers the installation")
      .option("--no-admin")
      .option("--disabled", "the person is locked out, and their runs end")
      .option("--no-disabled")
      .option("--password-stdin", "read the password from standard input")
      .option("--limit <name=amount>", "a limit such as MaxRuns=5, or MaxCpus=none; may repeat", collectOption)
      .action(lazyAction(state, async () => (await people())[verb === "create" ? "createUser" : "editUser"]))
  }
  user
    .command("rm")
    .argument("<user>", "name or ID")
    .description("Delete an account and stop its runs. Its images, datasets and projects stay.")
    .option("-y, --yes", "do not ask")
    .action(lazyAction(state, async () => (await people()).removeUser))
}

function groupCommands(program: Command, state: ProgramState): void {
  const commands = addCommandGroup(program, "group", "Manage groups")
  commands
    .command("ls")
    .description("List your groups; administrators see all.")
    .action(lazyAction(state, async () => (await people()).listGroups))
  commands
    .command("show")
    .argument("<group>", "name or ID")
    .description("Show one group.")
    .action(lazyAction(state, async () => (await people()).showGroup))
  commands
    .command("create")
    .argument("<name>")
    .argument("[members...]", "user names")
    .option("--comment <text>")
    .description("Create a group.")
    .action(lazyAction(state, async () => (await people()).createGroup))
  for (const [verb, text] of [
    ["add", "Add people to a group."],
    ["remove", "Remove people from a group."],
  ] as const) {
    commands
      .command(verb)
      .argument("<group>", "name or ID")
      .argument("<members...>", "user names")
      .description(text)
      .action(lazyAction(state, async () => (await people())[verb === "add" ? "addMembers" : "removeMembers"]))
  }
  commands
    .command("rm")
    .argument("<group>", "name or ID")
    .option("-y, --yes", "do not ask")
    .description("Delete a group.")
    .action(lazyAction(state, async () => (await people()).removeGroup))
}
