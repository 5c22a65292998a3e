import { at, faults } from "./mutant.ts"

/** The command line. */
export const commandLine = [
  ...faults(
    "src/cli/session/contexts.ts",
    ["test/cli/command-line.test.ts"],
    [["a file of tokens that others can read is used", at("readContexts", "(mode & 0o077) !== 0"), "false"]],
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
    [["a download begins again without a range", at("receiveInto", "received === 0 ? {}"), "true ? {}"]],
  ),
  ...faults(
    "src/cli/files/trees.ts",
    ["src/cli/io/io.test.ts"],
    [["a name from the server leads out of the folder", at("assertPlainName", 'name === ".."'), "false"]],
  ),
  ...faults(
    "src/cli/io/table.ts",
    ["src/cli/io/io.test.ts"],
    [["names move the cursor", at("withoutControls", '.replaceAll(/\\p{Cc}+/gu, " ")'), ""]],
  ),
]
