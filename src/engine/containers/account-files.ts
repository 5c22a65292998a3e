export interface PasswdEntry {
  user: string
  home: string
  uid: number
  gid: number
}

/**
 * `/etc/passwd` and `/etc/group` for a run, so that its user has a name and a home. They hide the
 * image's own files, so a run cannot become any other user.
 */
export function accountFiles({ user, home, uid, gid }: PasswdEntry): Record<string, string> {
  return {
    "/etc/passwd": `root:x:0:0:root:/root:/bin/sh\n${user}:x:${uid}:${gid}:${user}:${home}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n`,
    "/etc/group": `root:x:0:\n${user}:x:${gid}:\nnogroup:x:65534:\n`,
  }
}
