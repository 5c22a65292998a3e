import type { ProjectType } from "#contract"

/** How a program shows that it is ready. */
export type Readiness =
  /**
   * An answer to GET `path` (relative to the program's base) with a status that `accepts` names:
   * exactly 200, or anything below 500.
   */
  | { kind: "http"; path: string; accepts: "200" | "below 500" }
  /** A WebSocket at `path` whose first message begins with `banner`. */
  | { kind: "websocket"; path: string; banner: string }

/** What follows from a project's type where image and project do not say otherwise. */
export interface ProjectTypeRule {
  /** The TCP port inside the container. */
  port: number
  /**
   * Null: the image's own. `{port}` and `{baseUrl}` are filled in. The program starts in the code
   * directory.
   */
  command: readonly string[] | null
  /** `{port}` and `{baseUrl}` are filled in; the image's settings win. */
  env: Readonly<Record<string, string>>
  /**
   * The variable by which the program takes the run's own token; nothing else can set it. Null: it
   * takes none.
   */
  tokenVariable: string | null
  /** The header with which the token is sent to the program; `{secret}` is filled in. */
  upstreamHeaders: Readonly<Record<string, string>>
  /**
   * `keep`: the program is told that it lives below `/run/<ID>/`. `strip`: it believes that it
   * lives at `/`.
   */
  prefix: "keep" | "strip"
  /** Where a browser goes first, relative to the program's base. */
  landing: string
  readiness: Readiness
  /**
   * Where the program lists its kernels as Jupyter does, relative to its base: one that is busy
   * computes. Null: it does not tell.
   */
  kernelsPath: string | null
  /**
   * Whether the program may write to its root file system, as images made for anything else than
   * Quayside often do.
   */
  writableRoot: boolean
}

/**
 * The options that Jupyter's server has under one name since 2021 and Notebook 6 under another;
 * each passes over the other's.
 */
function jupyterOptions(...servers: ("ServerApp" | "NotebookApp")[]): string[] {
  const common = ["--ip=0.0.0.0", "--port={port}", "--no-browser"]
  const named = servers.flatMap((server) => [
    `--${server}.base_url={baseUrl}`,
    `--${server}.port_retries=0`,
    `--${server}.allow_remote_access=True`,
  ])
  return [...common, ...named]
}

/**
 * With a token Jupyter asks browsers for no `_xsrf` cookie, and neighbours get 403. Its runtime
 * files stay out of a home that two runs may share.
 */
const jupyter = {
  port: 8888,
  env: { JUPYTER_RUNTIME_DIR: "/tmp/jupyter-runtime" },
  tokenVariable: "JUPYTER_TOKEN",
  upstreamHeaders: { authorization: "token {secret}" },
  prefix: "keep",
  readiness: { kind: "http", path: "api", accepts: "200" },
  kernelsPath: "api/kernels",
  writableRoot: false,
} as const satisfies Partial<ProjectTypeRule>

/** Starts whichever of the two the image has; its arguments are the server's. */
const anyJupyter = [
  "sh",
  "-c",
  'command -v jupyter-lab >/dev/null && exec jupyter lab "$@"; exec jupyter notebook "$@"',
  "jupyter",
] as const

/** One row for each type of project. */
export const projectTypeRules = {
  jupyter: { ...jupyter, command: [...anyJupyter, ...jupyterOptions("ServerApp", "NotebookApp")], landing: "" },
  jupyterlab: { ...jupyter, command: ["jupyter", "lab", ...jupyterOptions("ServerApp")], landing: "lab" },
  jupyternotebook: { ...jupyter, command: ["jupyter", "notebook", ...jupyterOptions("ServerApp", "NotebookApp")], landing: "tree" },
  novnc: {
    port: 6080,
    command: null,
    env: {},
    tokenVariable: null,
    upstreamHeaders: {},
    prefix: "strip",
    landing: "vnc.html?autoconnect=1&resize=remote",
    readiness: { kind: "websocket", path: "websockify", banner: "RFB " },
    kernelsPath: null,
    writableRoot: false,
  },
  vscode: {
    port: 8080,
    command: [
      "code-server",
      "--auth=none",
      "--bind-addr=0.0.0.0:{port}",
      "--disable-telemetry",
      "--disable-update-check",
      "--disable-workspace-trust",
      "--disable-proxy",
      "--reconnection-grace-time=300",
      ".",
    ],
    env: {},
    tokenVariable: null,
    upstreamHeaders: {},
    prefix: "strip",
    landing: "",
    readiness: { kind: "http", path: "healthz", accepts: "200" },
    kernelsPath: null,
    writableRoot: false,
  },
  http: {
    port: 8000,
    command: null,
    env: { PORT: "{port}" },
    tokenVariable: null,
    upstreamHeaders: {},
    prefix: "strip",
    landing: "",
    readiness: { kind: "http", path: "", accepts: "below 500" },
    kernelsPath: null,
    writableRoot: true,
  },
} as const satisfies Record<ProjectType, ProjectTypeRule>

export function ruleOfType(type: ProjectType): ProjectTypeRule {
  return projectTypeRules[type]
}
