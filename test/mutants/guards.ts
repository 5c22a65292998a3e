// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what stands in other files is plain text here

import { faults } from "./mutant.ts"

const refusals = ["test/api/refusals.test.ts"]

/** What asks the rules at each door, taken out one at a time, and what counts those who were refused there. */
export const guards = [
  ...faults("src/api/server.ts", refusals, [
    ["refusals of the API are not counted", "else if ([401, 403, 429].includes(failure.status))", "else if (failure.status === 0)"],
  ]),
  ...faults("src/api/pages.ts", refusals, [["refusals at /open are not counted", "if (run && !may) services", "if (run && may) services"]]),
  ...faults("src/gateway/path-form.ts", refusals, [
    ["who asks for a hidden run is not counted", '  noteRefusal(core, call, { visitor, code: "hidden" })\n', ""],
  ]),
  ...faults("src/gateway/refusals.ts", refusals, [
    ["refusals of the gateway are not counted", "if (error instanceof Failure && isAboutRights(error)) note", "if (error === null) note"],
  ]),
  ...faults("src/files/handler.ts", refusals, [
    ["refusals of the file server are not counted", "      noteRefusal(scene, request, { asker, error })\n", ""],
    ["who asks for hidden files is not counted", "if (isHidden || status === 401", "if (status === 401"],
    ["who is refused files is nobody", "    asker.userName = found.userName\n", ""],
  ]),
  ...faults("src/main/adapters.ts", refusals, [
    ["reads and writes that are refused are one", 'isWrite ? "writeFiles" : "readFiles"', '"readFiles"'],
    ["refusals of files count one each", "{ code, count })", "{ code })"],
    ["whoever is refused a run is nobody", "const name = async () => (visitor &&", "const name = async () => (visitor === null &&"],
  ]),
  ...faults(
    "src/events/refusals.ts",
    ["src/events/refusals.test.ts"],
    [
      ["of many refusals one is counted", "if (known) known.count += count", "if (known) known.count = count"],
      ["refusals of one actor are all one", "const key = `${refusal.actor} ${refusal.action}`", "const key = refusal.actor"],
      ["refusals of one action are all one", "const key = `${refusal.actor} ${refusal.action}`", "const key = refusal.action"],
      ["each refusal is a row", "    this.#minute ??= this.#untilOver()\n", "    this.#write()\n"],
      ["refusals gather in memory", "    if (this.#counts.size > countedMax) this.#write()\n", ""],
      [
        "the refusals of the last minute are lost",
        "    await this.#minute\n    this.#write()\n",
        "    this.#counts.clear()\n    await this.#minute\n",
      ],
    ],
  ),
  ...faults(
    "src/gateway/path-form.ts",
    ["test/access/hidden.test.ts"],
    [["what is not there is refused sooner than what is hidden", "await core.host.mayOpen(visitor, id).catch(() => false)", "{}"]],
  ),
  ...faults(
    "src/gateway/openings.ts",
    ["test/access/gateway.test.ts"],
    [
      [
        "what is open is never asked about again",
        "    await Promise.all([...this.#pairs].map(([id, pair]) => this.#recheck(id, pair)))\n",
        "",
      ],
    ],
  ),
  ...faults(
    "src/store/tables/grants.ts",
    ["test/access/lists.test.ts"],
    [["everybody's grants are listed to everybody", '    addViewer("grants", viewer, { args, shape })\n', ""]],
  ),
  ...faults(
    "src/access/paths.ts",
    ["test/access/files.test.ts"],
    [
      [
        "a dataset's grants do not count for its files",
        'await withGrants(reads, caller, { actions: ["data:writeFiles"], things: asked })',
        "asked",
      ],
    ],
  ),
  ...faults(
    "src/api/pages.ts",
    ["test/access/pages.test.ts"],
    [
      ["the home page is shown to everybody", '  if (!(await sessionCaller(services, request))) return redirect("/ui/sign-in")\n', ""],
      ["a page that nobody said who may see", "  ...openIdPages,\n", '  ...openIdPages,\n  "/ui/else": home,\n'],
    ],
  ),
]
