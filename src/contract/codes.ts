/**
 * The codes of failed requests, for programs, with their default HTTP status.
 */
export const failureStatus = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  already_running: 409,
  stale: 412,
  too_large: 413,
  unsupported_media_type: 415,
  locked: 423,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
  engine_unreachable: 503,
  storage_full: 507,
} as const
export type FailureCode = keyof typeof failureStatus

/**
 * The reasons for the end of a run, with the sentence that is used if nothing more exact is known.
 */
export const reasonMessages = {
  image_not_found: "Neither the engine nor the registry has the image",
  image_pull_denied: "The registry refused to hand out the image",
  image_pull_failed: "The image could not be fetched",
  image_too_large: "The image is larger than images may be here",
  image_unavailable: "The project's image was deleted, or the person who starts it may not use it",
  data_unavailable: "A dataset of the project was deleted, or the person who starts it may not read it",
  code_unavailable: "The project's code could not be copied for the person who starts it",
  mount_missing: "A directory that should be mounted does not exist",
  insufficient_cpu: "No node has so many CPUs",
  insufficient_memory: "No node has so much memory",
  insufficient_gpu: "No node has so many GPUs",
  nodes_unsupported: "This engine runs on one node only",
  quota_exceeded: "The person's own limit would be exceeded",
  command_not_found: "The command does not exist in the image",
  port_not_open: "Nothing listens on the project's port",
  not_answering: "The port is open but the program does not answer as its type should",
  exited: "The program ended by itself",
  oom_killed: "The program used more memory than it was given and was killed",
  disk_full: "The disk is full",
  engine_unreachable: "The container engine cannot be reached",
  engine_error: "The container engine refused",
  lost: "The container engine no longer has the run",
  timeout_queued: "The run waited too long for capacity",
  timeout_pulling: "The image stopped arriving",
  timeout_creating: "The container was not made in time",
  timeout_starting: "The program did not get ready in time",
  timeout_stopping: "The container did not stop in time",
  idle: "Nobody used the run for as long as its idle limit",
  max_time: "The run reached its longest allowed time",
  stopped_by_user: "The person who started the run, or one whom they gave the right to, stopped it",
  stopped_by_admin: "An administrator stopped the run",
  access_withdrawn: "The person was disabled or deleted, or may no longer use a part of what they run",
} as const
export type ReasonCode = keyof typeof reasonMessages

/** The status with which a start that failed for this reason is answered. */
export function reasonStatus(code: ReasonCode): 409 | 503 {
  return code === "engine_unreachable" || code === "engine_error" || code === "disk_full" ? 503 : 409
}
