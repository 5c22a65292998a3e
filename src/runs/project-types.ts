import type { ProjectType } from "#contract"

/** How Quayside detects that a program is ready. */
export type ReadinessCheck =
  /**
   * A response to GET `path` (relative to the program's base) with a status that `accepts` permits:
   * exactly 200, or any below 500.
   */
  | { kind: "http"; path: string; accepts: "200" | "below 500" }
  /** A WebSocket at `path` whose first message begins with `banner`. */
  | { kind: "websocket"; path: string; banner: string }

/** How a type's program is found in an image. */
export interface ProgramRule {
  /** Names of the program; an earlier one is preferred. */
  names: readonly string[]
  /** Python modules that are the program, if no name is found. */
  modules: readonly string[]
  /** Directories to look in besides the image's `PATH`. */
  directories: readonly string[]
}

/**
 * `jupyter`: messages to kernels and terminals. `rfb`: that of VNC. `vscode`: that of VS Code's
 * server. `any`: not known.
 */
export type WebSocketProtocol = "jupyter" | "rfb" | "vscode" | "any"

/** Defaults of a project type, which image and project can override. */
export interface ProjectTypeRule {
  /** The TCP port inside the container. */
  port: number
  /** Whether the only port that the image exposes replaces `port`. */
  portFromImage: boolean
  /** Null: the image's own entry point and command. */
  program: ProgramRule | null
  /**
   * The program's arguments. `{port}`, `{baseUrl}`, `{codePath}` (the code directory) and
   * `{workspace}` (the directory of all mounts) are replaced. The program starts in the image's
   * working directory, or in the code directory if the image has none.
   */
  arguments: readonly string[]
  /** `{port}` and `{baseUrl}` are replaced; the image's settings override these. */
  env: Readonly<Record<string, string>>
  /**
   * The environment variable with the run's own token; no other setting can override it. Null: the
   * program has no token.
   */
  tokenVariable: string | null
  /** The header that carries the token to the program; `{secret}` is replaced. */
  upstreamHeaders: Readonly<Record<string, string>>
  /**
   * `keep`: the program's base path is `/run/<ID>/`. `strip`: its base path is `/`.
   */
  prefix: "keep" | "strip"
  /**
   * The first page for a browser, relative to the program's base. `{codePath}` is the code
   * directory relative to the workspace.
   */
  landing: string
  readiness: ReadinessCheck
  /**
   * The path of a list of kernels in Jupyter's format, relative to the program's base. A busy
   * kernel counts as activity. Null: the program has no such list.
   */
  kernelsPath: string | null
  /** The protocol of the program's pages over WebSocket, which tells typing from keep-alives. */
  webSocketProtocol: WebSocketProtocol
  /**
   * Whether the program may write to its root file system. Images that were not made for Quayside
   * often do.
   */
  writableRoot: boolean
}

/**
 * Options whose names differ between Jupyter Server (since 2021) and Notebook 6. Each program
 * ignores the other's names.
 */
function jupyterOptions(...servers: ("ServerApp" | "NotebookApp")[]): string[] {
  const common = ["--ip=0.0.0.0", "--port={port}", "--no-browser"]
  const named = servers.flatMap((server) => [
    `--${server}.base_url={baseUrl}`,
    `--${server}.port_retries=0`,
    `--${server}.allow_remote_access=True`,
    server === "ServerApp" ? "--ServerApp.root_dir={workspace}" : "--NotebookApp.notebook_dir={workspace}",
  ])
  return [...common, ...named, "--ServerApp.preferred_dir={codePath}"]
}

/**
 * With a token Jupyter requires no `_xsrf` cookie from browsers, and other containers get 403. Its
 * runtime files are outside the home, which two runs may share.
 */
const jupyter = {
  port: 8888,
  portFromImage: false,
  env: { JUPYTER_RUNTIME_DIR: "/tmp/jupyter-runtime" },
  tokenVariable: "JUPYTER_TOKEN",
  upstreamHeaders: { authorization: "token {secret}" },
  prefix: "keep",
  readiness: { kind: "http", path: "api", accepts: "200" },
  kernelsPath: "api/kernels",
  webSocketProtocol: "jupyter",
  writableRoot: false,
} as const satisfies Partial<ProjectTypeRule>

/** The directories of virtual environments and conda in images. */
const pythonDirectories = [
  "/opt/conda/bin",
  "/opt/venv/bin",
  "/venv/bin",
  "/app/.venv/bin",
  "/opt/miniconda3/bin",
  "/opt/miniforge3/bin",
  "/opt/anaconda3/bin",
  "/usr/local/bin",
  "/usr/bin",
] as const
const jupyterLab = { names: ["jupyter-lab"], modules: ["jupyterlab"], directories: pythonDirectories } as const
const jupyterNotebook = { names: ["jupyter-notebook"], modules: ["notebook"], directories: pythonDirectories } as const
const anyJupyter = {
  names: [...jupyterLab.names, ...jupyterNotebook.names],
  modules: [...jupyterLab.modules, ...jupyterNotebook.modules],
  directories: pythonDirectories,
} as const

/** One row for each type of project. */
export const projectTypeRules = {
  jupyter: { ...jupyter, program: anyJupyter, arguments: jupyterOptions("ServerApp", "NotebookApp"), landing: "" },
  jupyterlab: { ...jupyter, program: jupyterLab, arguments: jupyterOptions("ServerApp"), landing: "lab" },
  jupyternotebook: {
    ...jupyter,
    program: jupyterNotebook,
    arguments: jupyterOptions("ServerApp", "NotebookApp"),
    landing: "tree/{codePath}",
  },
  novnc: {
    port: 6080,
    portFromImage: false,
    program: null,
    arguments: [],
    env: {},
    tokenVariable: null,
    upstreamHeaders: {},
    prefix: "strip",
    landing: "vnc.html?autoconnect=1&resize=remote&reconnect=1",
    readiness: { kind: "websocket", path: "websockify", banner: "RFB " },
    kernelsPath: null,
    webSocketProtocol: "rfb",
    writableRoot: false,
  },
  vscode: {
    port: 8080,
    portFromImage: false,
    program: {
      names: ["code-server"],
      modules: [],
      directories: [
        "/usr/lib/code-server/bin",
        "/app/code-server/bin",
        "/opt/code-server/bin",
        "/usr/local/lib/code-server/bin",
        "/usr/local/bin",
        "/usr/bin",
      ],
    },
    arguments: [
      "--auth=none",
      "--bind-addr=0.0.0.0:{port}",
      "--disable-telemetry",
      "--disable-update-check",
      "--disable-workspace-trust",
      "--disable-proxy",
      "--reconnection-grace-time=300",
      "{codePath}",
    ],
    env: {},
    tokenVariable: null,
    upstreamHeaders: {},
    prefix: "strip",
    landing: "",
    readiness: { kind: "http", path: "healthz", accepts: "200" },
    kernelsPath: null,
    webSocketProtocol: "vscode",
    writableRoot: false,
  },
  http: {
    port: 8000,
    portFromImage: true,
    program: null,
    arguments: [],
    env: { PORT: "{port}" },
    tokenVariable: null,
    upstreamHeaders: {},
    prefix: "strip",
    landing: "",
    readiness: { kind: "http", path: "", accepts: "below 500" },
    kernelsPath: null,
    webSocketProtocol: "any",
    writableRoot: true,
  },
} as const satisfies Record<ProjectType, ProjectTypeRule>

export function ruleOfType(type: ProjectType): ProjectTypeRule {
  return projectTypeRules[type]
}
