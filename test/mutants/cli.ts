import { at, faults } from "./mutant.ts"

/** The command line. */
export const commandLine = [
  ...faults(
    "src/cli/files/run-file.ts",
    ["src/cli/files/run-file.test.ts"],
    [["a copy goes on at what a run's link leads to", at("completeLocalFile", "!(await lstat(local)).isFile()"), "false"]],
  ),
  ...faults(
    "src/cli/session/names.ts",
    ["test/cli/command-line.test.ts"],
    [
      [
        "a command goes to somebody else's run because of its name",
        at("findRun", "client.listRuns({ query: { UserName, page, pageSize } })"),
        "client.listRuns({ query: { page, pageSize } })",
      ],
    ],
  ),
  ...faults(
    "src/cli/io/table.ts",
    ["src/cli/io/io.test.ts"],
    [["a run's output commands the reader's terminal", at("sanitizeOutput", 'part.replaceAll(command, "")'), "part"]],
  ),
  ...faults(
    "src/cli/io/cli.ts",
    ["src/cli/io/io.test.ts"],
    [
      ["a server's words command the reader's terminal", at("Cli.print", "stdout.isTTY === true"), "false"],
      ["control characters in JSON command the reader's terminal", at("Cli.show", "toJson(value, 2)"), "JSON.stringify(value, null, 2)"],
    ],
  ),
  ...faults(
    "src/cli/files/trees.ts",
    ["test/cli/command-line.test.ts"],
    [["a dataset's owner chooses a hidden folder of whoever pulls it", at("defaultFolder", 'name.startsWith(".")'), "false"]],
  ),
  ...faults(
    "src/cli/commands/data.ts",
    ["test/cli/command-line.test.ts"],
    [["a dataset's owner chooses a folder with files of whoever pulls it", at("newDefaultFolder", "names?.length === 0"), "true"]],
  ),
  ...faults(
    "src/cli/files/upload.ts",
    ["src/cli/files/upload.test.ts"],
    [
      [
        "a file counts as uploaded whatever the server answers",
        at("sendChunks", "if (after > at && after <= upload.size) return after"),
        "return after",
      ],
    ],
  ),
  ...faults(
    "src/cli/files/download.ts",
    ["src/cli/files/download.test.ts"],
    [["a server fills the disk of whoever downloads a file", at("receiveInto", "if (received > size) break"), ""]],
  ),
  ...faults(
    "src/cli/commands/mount.ts",
    ["src/cli/commands/mount.test.ts"],
    [["a server adds options to a mount of root", at("mountCommand", "accountNameError(userName) !== undefined || "), ""]],
  ),
  ...faults(
    "src/cli/io/private-files.ts",
    ["test/cli/command-line.test.ts"],
    [["a file of tokens that others can read is used", at("readPrivateFile", "others !== 0"), "false"]],
  ),
  ...faults(
    "src/cli/session/browser-login.ts",
    ["test/cli/login.test.ts"],
    [
      ["a sign-in accepts any state", at("receive", '!isEqual(query.get("state") ?? "", state) || '), ""],
      ["a sign-in answers requests for any host", at("receive", "&& request.headers.host === host"), ""],
    ],
  ),
  ...faults(
    "src/cli/session/names.ts",
    ["test/cli/command-line.test.ts"],
    [["the first of several with a name is taken", at("findOne", "first && found.length === 1"), "first"]],
  ),
  ...faults(
    "src/cli/io/input.ts",
    ["test/cli/command-line.test.ts"],
    [["a deletion without a terminal needs no --yes", at("confirm", "if (yes) return"), "if (yes || !cli.canAsk) return"]],
  ),
  ...faults(
    "src/cli/files/upload.ts",
    ["test/cli/resume.test.ts"],
    [["an interrupted upload begins again", at("openUpload", "offset !== undefined"), "false"]],
  ),
  ...faults(
    "src/cli/files/download.ts",
    ["test/cli/resume.test.ts"],
    [["a download begins again without a range", at("receiveInto", "received === 0 ? first"), "true ? first"]],
  ),
  ...faults(
    "src/cli/files/run-folder.ts",
    ["src/cli/files/run-folder.test.ts"],
    [
      [
        "a file of a run with other content is complete",
        at("completeFiles", " && found.sha256 === (await localChecksum(local + path))"),
        "",
      ],
      ["a folder of a run that changed is mixed with its copy", at("resumeArchive", "!isSame"), "false"],
      ["a link in a run counts as the folder", at("listInRun", ' && [ ! -L "$0" ]'), ""],
    ],
  ),
  ...faults(
    "src/cli/files/trees.ts",
    ["src/cli/io/io.test.ts"],
    [["a name from the server leads out of the folder", at("assertPlainName", 'name === ".."'), "false"]],
  ),
  ...faults(
    "src/cli/commands/programs.ts",
    ["test/cli/terminal.docker.test.ts"],
    [["a new size of the terminal does not reach the run", at("passTerminal", "program.resize(terminalSize(cli))"), "undefined"]],
  ),
  ...faults(
    "src/cli/ssh/ssh-server.ts",
    ["test/cli/ssh.docker.test.ts"],
    [["ssh needs no key", at("authenticate", "&& isSame(context.key.data, known) && isSignatureValid(context, identity)"), ""]],
  ),
  ...faults(
    "src/cli/files/without-tar.ts",
    ["src/cli/files/without-tar.test.ts"],
    [
      ["a list of the run's files leads out of the folder", at("plainPath", "assertPlainName(name)"), "void name"],
      ["a copy without tar ends with its connection", at("copyOneByOne", "isConnectionLost(error)"), "false"],
    ],
  ),
  ...faults(
    "src/cli/ssh/keys.ts",
    ["src/cli/ssh/keys.test.ts"],
    [["one key of 256 is damaged", at("createKey", "!(ssh2.utils.parseKey(key.private) instanceof Error)"), "true"]],
  ),
  ...faults(
    "src/cli/sync/plan.ts",
    ["test/cli/sync.test.ts"],
    [
      ["sync sends its version over a change of the server", at("decide", 'return "compare"'), 'return "upload"'],
      ["sync writes through a link", at("decide", "!here && isBelowOther(path, local)"), "false"],
      [
        "sync removes a file that changed on the other side",
        at("decide", '!changedThere ? "removeThere" : there.kind'),
        'true ? "removeThere" : there.kind',
      ],
    ],
  ),
  ...faults(
    "src/cli/sync/local-folder.ts",
    ["test/cli/sync.test.ts"],
    [["sync removes a file that changed a moment ago", at("LocalFolder.remove", "&& isUnchanged(found, expected)"), ""]],
  ),
  ...faults(
    "src/cli/sync/ignored.ts",
    ["test/cli/sync.test.ts"],
    [["the rules at the server decide what sync sends", at("readIgnored", "foldFileName(name) === ignoreFile || "), ""]],
  ),
  ...faults(
    "src/cli/sync/ignored.ts",
    ["src/cli/sync/ignored.test.ts"],
    [
      ["sync writes the rules of another folder by a name of other letters", at("readIgnored", "foldFileName(name)"), "name"],
      ["any number of names may stand between others in an ignored path", at("assertQuick", "doubleStars <= maxDoubleStars"), "true"],
      ["an ignored name has any number of stars", at("assertQuick", "stars.length <= maxStars"), "true"],
    ],
  ),
  ...faults("src/cli/ssh/run-files.ts", ["src/cli/ssh/run-files.test.ts"], [["a pipe stops the session", at("mustBeFile", "exit 1"), ":"]]),
  ...faults(
    "src/cli/io/table.ts",
    ["src/cli/io/io.test.ts"],
    [["names move the cursor", at("withoutControls", '.replaceAll(/[\\p{Cc}\\p{Bidi_Control}]+/gu, " ")'), ""]],
  ),
]
