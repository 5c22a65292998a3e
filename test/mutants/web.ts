import { at, faults } from "./mutant.ts"

/** The rules of the web UI that hold without a browser. */
export const web = [
  ...faults(
    "src/web/pages/authorize/request.ts",
    ["src/web/pages/authorize/request.test.ts"],
    [["a port may name a host", at("parseAuthorizeRequest", 'typeof port !== "number" || !Number.isInteger(port) || '), ""]],
  ),
  ...faults(
    "src/web/pages/files/upload-queue.ts",
    ["src/web/pages/files/upload-queue.test.ts"],
    [
      ["an ended session fails each file by itself", at("UploadQueue.#handleError", "isSignedOut(error)"), "false"],
      ["a file without room pauses the others", at("isSignedOut", "error.status === 401"), "[401, 507].includes(error.status)"],
      ["a lost connection fails the file", at("isTemporary", "error instanceof TypeError"), "false"],
    ],
  ),
  ...faults(
    "src/web/pages/files/preview/image-path.ts",
    ["src/web/pages/files/preview/preview-content.test.ts"],
    [["a text shows images above its directory", at("imagePath", '(name === ".." && names.length === 0)'), "false"]],
  ),
  ...faults(
    "src/web/pages/files/preview/parquet.ts",
    ["src/web/pages/files/preview/parquet.test.ts"],
    [["a preview reads any number of bytes", at("bounded", "if (left < 0)"), "if (left < -Infinity)"]],
  ),
  ...faults(
    "src/web/components/markdown/maths-limits.ts",
    ["src/web/components/markdown/rendering.test.ts"],
    [
      ["a formula's own macros multiply its text", at("maxExpandOf", "!definition.test(text)"), "true"],
      ["a unit has any number of fractions", at("maxExpandOf", "unit.test(text) &&"), "false &&"],
    ],
  ),
  ...faults(
    "src/web/pages/files/entries.ts",
    ["src/web/pages/files/entries.test.ts"],
    [["names are compared for any time", at("compareByCollation", "now() > until"), "now() > Number.POSITIVE_INFINITY"]],
  ),
  ...faults(
    "src/web/components/long-text/text-pieces.ts",
    ["src/web/components/long-text/text-pieces.test.ts"],
    [["a long text is laid out as one", at("endOfPiece", "from + maxPieceLength"), "from + maxPieceLength * 100"]],
  ),
  ...faults(
    "src/web/components/markdown/render-budget.ts",
    ["src/web/components/markdown/rendering.test.ts"],
    [
      ["a text is rendered for any time", at("RenderBudget.render", "if (this.#leftMs <= 0) return false"), ""],
      ["each cell of a notebook is parsed for half a second", at("RenderBudget.parse", "work(this.#parseMs)"), "work(maxParseMs)"],
    ],
  ),
  ...faults(
    "src/web/components/markdown/code-parts.ts",
    ["src/web/components/markdown/rendering.test.ts"],
    [["any length of code is coloured at once", at("endOfPart", "from + maxPartLength"), "from + 20_000"]],
  ),
  ...faults(
    "src/web/api/events/refresher.ts",
    ["src/web/api/events/refresher.test.ts"],
    [["each page reads again at the rate of somebody's changes", at("Refresher.#endPause", "pending.pauseMs * 2"), "minPauseMs"]],
  ),
  ...faults(
    "src/web/pages/run/log-lines.ts",
    ["src/web/pages/run/run-logic.test.ts"],
    [["a page shows any amount of a run's output", at("appendLines", "if (characters > max.characters) break"), ""]],
  ),
  ...faults(
    "src/web/components/markdown/markdown-tokens.ts",
    ["src/web/components/markdown/markdown-text.test.ts"],
    [["an address in a text has any length", at("HurriedTokenizer.url", "src.slice(0, maxAddress)"), "src"]],
  ),
  ...faults(
    "src/web/components/markdown/markdown-text.ts",
    ["src/web/components/markdown/markdown-text.test.ts"],
    [["a link may run script", at("safeHref", '["http:", "https:", "mailto:"].includes(url.protocol)'), "url.protocol"]],
  ),
]
