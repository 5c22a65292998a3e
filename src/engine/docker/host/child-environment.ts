/**
 * All that programs get which are started to do something: the server's own environment may hold
 * secrets, and its `PATH` is anybody's.
 */
export const childEnvironment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/wsl/lib",
  LC_ALL: "C",
} as const
