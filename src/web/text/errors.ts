export const errors = {
  unreachable: "The server cannot be reached.",
  unreachableHint: "What you typed stays. Try again in a moment.",
  page: "This page failed.",
  reload: "Load the page again",
  nameTaken: (name: string) => `There is already an entry named ${name}. Choose another name, or delete that one.`,
  requestId: (id: string) => `Request ${id}`,
  /** The next step after each code of a failed request, if there is one to name. */
  hints: {
    unauthorized: "Sign in again.",
    forbidden: "Ask the owner or an administrator for the right.",
    not_found: "It may have been deleted meanwhile.",
    conflict: "Load the page again to see the present state.",
    stale: "Somebody changed it meanwhile. Load the page again to see the change.",
    too_many_requests: "Wait a moment and try again.",
    internal: "Try again. If it fails again, give an administrator the request's number.",
    unavailable: "Try again in a moment.",
    engine_unreachable: "Try again in a minute. If it fails again, tell an administrator.",
    storage_full: "Delete files that nobody needs, or ask an administrator to make room.",
  },
}
