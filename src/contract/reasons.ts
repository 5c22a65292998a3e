/** The part of the installation that a reason is about: the sections of the reference page. */
export type ReasonTopic = "image" | "files" | "capacity" | "program" | "engine" | "time" | "people"

interface ReasonText {
  topic: ReasonTopic
  /** The sentence of `Reason.msg` if nothing more exact is known. */
  msg: string
  /** The usual causes, for the reference page. */
  cause: string
  /** The sentence of `Reason.hint` if nothing more exact is known: how to get the run started. */
  hint: string
}

/** Every reason for the end of a run. */
export const reasonTexts = {
  image_not_found: {
    topic: "image",
    msg: "Neither the engine nor the registry has the image",
    cause: "A typing error in the image's name or tag, a removed tag, or an image that was built on another machine",
    hint: "Compare the image's name and tag with the registry's page; build or load a local image on the machine of the runs",
  },
  image_pull_denied: {
    topic: "image",
    msg: "The registry refused to hand out the image",
    cause: "A private image without credentials, credentials that ended, or a registry that this installation does not allow",
    hint: "Ask an administrator to add credentials for this registry, or choose an image that everybody may pull",
  },
  image_pull_failed: {
    topic: "image",
    msg: "The image could not be fetched",
    cause: "The registry is down or overloaded, the network or a proxy fails, or the registry's certificate is not trusted",
    hint: "Start it again in some minutes; if it fails again, ask an administrator whether the registry can be reached",
  },
  image_too_large: {
    topic: "image",
    msg: "The image is larger than images may be here",
    cause: "The image is larger than `QUAYSIDE_MAX_IMAGE_SIZE`",
    hint: "Make the image smaller, or ask an administrator to raise the limit",
  },
  image_unavailable: {
    topic: "image",
    msg: "The project's image was deleted, or the person who starts it may not use it",
    cause:
      "The image was deleted, is not shared with the starter or with the project's owner, was built here without an administrator's approval, or asks for something that runs may not have",
    hint: "Choose another image for the project, or ask the image's owner to share it",
  },
  wrong_architecture: {
    topic: "image",
    msg: "The image is made for another kind of processor",
    cause: "The image was built on a machine with another processor, such as a Mac (arm64), and has no variant for this one",
    hint: "Build the image again for this machine's processor, such as with `docker build --platform linux/amd64`",
  },
  data_unavailable: {
    topic: "files",
    msg: "A dataset of the project was deleted, or the person who starts it may not read it",
    cause: "The dataset was deleted, its owner ended the sharing, or the project's owner may no longer read it",
    hint: "Ask the dataset's owner to share it again, or remove it from the project",
  },
  code_unavailable: {
    topic: "files",
    msg: "The project's code could not be copied for the person who starts it",
    cause: "The released code is larger than one copy may be, or one of its files cannot be read",
    hint: "Ask the project's owner to release smaller code; large files belong into a dataset",
  },
  mount_missing: {
    topic: "files",
    msg: "A directory that should be mounted does not exist",
    cause: "The dataset's directory was removed or renamed, or a file has its name",
    hint: "Create the directory again, or remove the dataset from the project",
  },
  mount_unreadable: {
    topic: "files",
    msg: "A directory that should be mounted cannot be opened by runs",
    cause: "The directory belongs to another account of the machine and is closed to others, such as after a copy made as root",
    hint: "Ask an administrator to give the directory to the account of the runs",
  },
  insufficient_cpu: {
    topic: "capacity",
    msg: "No node has so many CPUs",
    cause: "The start asks for more CPUs than the largest node can give to runs",
    hint: "Ask for fewer CPUs; `GET /capacity` shows the nodes",
  },
  insufficient_memory: {
    topic: "capacity",
    msg: "No node has so much memory",
    cause: "The start asks for more memory than the largest node can give to runs",
    hint: "Ask for less memory; `GET /capacity` shows the nodes",
  },
  insufficient_gpu: {
    topic: "capacity",
    msg: "No node has so many GPUs",
    cause: "The start asks for more GPUs, or for larger ones, than any node has, or the engine has no driver for them",
    hint: "Ask for fewer or smaller GPUs; `GET /capacity` shows them",
  },
  nodes_unsupported: {
    topic: "capacity",
    msg: "This engine runs on one node only",
    cause: "The start asks for more than one node, and the engine is Docker",
    hint: "Ask for one node; runs on several nodes need Kubernetes as the engine",
  },
  quota_exceeded: {
    topic: "capacity",
    msg: "The person's own limit would be exceeded",
    cause: "The person, or all members of one of their groups together, hold as much as their limit allows",
    hint: "Stop another run, ask for less, or ask an administrator for a higher limit",
  },
  command_not_found: {
    topic: "program",
    msg: "The command does not exist in the image",
    cause: "A typing error in the command, an image without the program that the project's type starts, or a file that is not executable",
    hint: "Correct the image's Command, or choose an image that has the program, or another type",
  },
  port_not_open: {
    topic: "program",
    msg: "Nothing listens on the project's port",
    cause: "The program listens on another port, or on 127.0.0.1 only, needs longer to start, or serves nothing",
    hint: "Let the program listen on 0.0.0.0 and the project's port, or set the image's Port to the program's own",
  },
  not_answering: {
    topic: "program",
    msg: "The port is open but the program does not answer as its type should",
    cause: "An error inside the program, a program of another type, or a base path that the program does not expect",
    hint: "Read the program's last lines; then correct the program, or choose the type that fits it",
  },
  exited: {
    topic: "program",
    msg: "The program ended by itself",
    cause: "An error of the program, a missing file or package, or a command that does its work and ends",
    hint: "Read the program's last lines: they usually name what it missed",
  },
  oom_killed: {
    topic: "program",
    msg: "The program used more memory than it was given and was killed",
    cause: "The start asked for less memory than the program needs, or the program collects ever more",
    hint: "Start the project with more memory, or let the program load less at once",
  },
  disk_full: {
    topic: "engine",
    msg: "The disk is full",
    cause: "The engine's disk or the disk of people's files is full, or the run reached its limit of stored data",
    hint: "Delete files that nobody needs; if the machine's disk is full, an administrator has to make room",
  },
  evicted: {
    topic: "engine",
    msg: "The cluster ended the run to make room on its node",
    cause: "A node ran out of memory or disk, or was emptied for maintenance, or a run with a higher priority needed its place",
    hint: "Start it again: files in mounted directories are still there; if it used much disk outside of these, let it write there instead",
  },
  node_lost: {
    topic: "engine",
    msg: "The node of the run is gone",
    cause: "The machine was switched off, was removed from the cluster, or lost its network for long",
    hint: "Start it again: it begins on another node, and files in mounted directories are still there",
  },
  engine_unreachable: {
    topic: "engine",
    msg: "The container engine cannot be reached",
    cause: "Docker, or the cluster's API server, is stopped, restarts, or hangs, or Quayside may not use it",
    hint: "Start it again in a minute; if it fails again, tell an administrator (`systemctl status docker`, or `kubectl get --raw /readyz`)",
  },
  engine_error: {
    topic: "engine",
    msg: "The container engine refused",
    cause: "A failure of the engine or of this machine; the server's log has the engine's own words",
    hint: "Start it again; if it fails again, ask an administrator to read the server's log",
  },
  lost: {
    topic: "engine",
    msg: "The container engine no longer has the run",
    cause: "Somebody removed the container by hand, or the engine lost it in a crash or restart",
    hint: "Start it again: files in mounted directories are still there",
  },
  timeout_queued: {
    topic: "time",
    msg: "The run waited too long for capacity",
    cause: "Others held the capacity for as long as a run may wait",
    hint: "Start it again with less, or at a quieter time",
  },
  timeout_pulling: {
    topic: "time",
    msg: "The image stopped arriving",
    cause: "The registry or the network sends nothing any more",
    hint: "Start it again: layers that arrived are kept; if it fails again, ask an administrator about the registry",
  },
  timeout_creating: {
    topic: "time",
    msg: "The container was not made in time",
    cause: "The engine is overloaded, or its disk is very slow",
    hint: "Start it again; if it fails again, tell an administrator",
  },
  timeout_starting: {
    topic: "time",
    msg: "The program did not get ready in time",
    cause: "The engine could not start the program, or could not tell its address",
    hint: "Start it again; if it fails again, tell an administrator",
  },
  timeout_stopping: {
    topic: "time",
    msg: "The container did not stop in time",
    cause: "The program or the engine hangs; Quayside goes on trying",
    hint: "Wait: the run ends as soon as the engine confirms it",
  },
  idle: {
    topic: "time",
    msg: "Nobody used the run for as long as its idle limit",
    cause: "No page, terminal or kernel of the run was used, and its processors were idle",
    hint: "Start it again: files in mounted directories are still there",
  },
  max_time: {
    topic: "time",
    msg: "The run reached its longest allowed time",
    cause: "The person's or the group's limit of hours for one run",
    hint: "Start it again, or ask an administrator for a higher limit",
  },
  stopped_by_user: {
    topic: "people",
    msg: "The person who started the run, or one whom they gave the right to, stopped it",
    cause: "A stop by its starter, or by somebody with that right",
    hint: "Start it again when you need it",
  },
  stopped_by_admin: {
    topic: "people",
    msg: "An administrator stopped the run",
    cause: "A stop by an administrator",
    hint: "Ask the administrators before you start it again",
  },
  access_withdrawn: {
    topic: "people",
    msg: "The person was disabled or deleted, or may no longer use a part of what they run",
    cause: "A right to the project, its image or a dataset ended before the run started, or the account was disabled",
    hint: "Ask the owner of the project, or an administrator, for the right",
  },
} as const satisfies Record<string, ReasonText>

export type ReasonCode = keyof typeof reasonTexts
export const reasonCodes = Object.keys(reasonTexts) as ReasonCode[]

/** The sentence of each reason that is used if nothing more exact is known. */
export const reasonMessages: { readonly [Code in ReasonCode]: string } = Object.fromEntries(
  Object.entries(reasonTexts).map(([code, { msg }]) => [code, msg]),
) as { [Code in ReasonCode]: string }

/** The status with which a start that failed for this reason is answered. */
export function reasonStatus(code: ReasonCode): 409 | 503 {
  return code === "engine_unreachable" || code === "engine_error" || code === "disk_full" ? 503 : 409
}

/** The reason with its code's hint, unless it has a better one. */
export function withHint<T extends { code: ReasonCode; hint?: string }>(reason: T): T & { hint: string } {
  return { ...reason, hint: reason.hint ?? reasonTexts[reason.code].hint }
}
