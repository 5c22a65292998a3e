import { type Parser, repeated, testLinear } from "../../../test/fixtures/linear.ts"
import { explainCommandError } from "./client/command-error.ts"
import { isDiskLimitRefused, isNetworkGone, toEngineError } from "./client/errors.ts"
import { isCommandMissing } from "./containers/start-check.ts"
import { toPullError } from "./images/pull-errors.ts"
import { PullProgress } from "./images/pull-progress.ts"

const readPullError = (error: Error) => toPullError(error, { host: "docker.io", path: "a/b", tag: "latest", digest: "" })

const parsers: Parser[] = [
  {
    name: "a program's last lines",
    parse: isCommandMissing,
    size: 131_072,
    shapes: [
      repeated("[FATAL tini (1)] exec "),
      repeated(" ", { start: "[FATAL" }),
      repeated("[FATAL "),
      repeated("1", { start: "[FATAL tini (" }),
      repeated("[FATAL tini (1)] exec x\n"),
    ],
  },
  {
    name: "the daemon's message about a start or a pull",
    parse: (message) =>
      [toEngineError, readPullError].flatMap((read) => [
        explainCommandError(read(new Error(message)), { name: "i", architecture: "" }),
        isNetworkGone(read(new Error(message))),
        isDiskLimitRefused(read(new Error(message))),
      ]),
    size: 131_072,
    shapes: [
      repeated("exec: "),
      repeated("exec: \n"),
      repeated("network "),
      repeated("network a "),
      repeated(" "),
      repeated("unexpected HTTP status: "),
    ],
  },
  {
    name: "the daemon's events of an image's layers, one letter each",
    parse: (layers) => {
      const progress = new PullProgress("r")
      return [...layers]
        .map((_, n) => progress.add({ status: "Downloading", id: String(n), progressDetail: { current: 1, total: 2 } }))
        .at(-1)
    },
    size: 16_384,
    shapes: [repeated("x")],
  },
]
testLinear(parsers)
