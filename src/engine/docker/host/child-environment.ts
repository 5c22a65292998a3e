/**
 * The whole environment of the programs that Quayside starts. Its own environment may contain
 * secrets, and its `PATH` may be anything.
 */
export const childEnvironment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/wsl/lib",
  LC_ALL: "C",
} as const
