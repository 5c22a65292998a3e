/** A small fault that the tests must notice. */
export interface Mutant {
  file: string
  /** What is wrong then, in words. */
  fault: string
  /** Stands in the file exactly once. */
  find: string
  replace: string
  /**
   * The files that run; at least one test in them must fail. Where one of them needs Docker, the
   * fault is put in only where Docker answers.
   */
  tests: readonly string[]
}

/**
 * Faults in one file that the same tests notice: what is wrong, what stands there, and what then
 * stands there instead.
 */
export function faults(
  file: string,
  tests: readonly string[],
  list: readonly (readonly [fault: string, find: string, replace: string])[],
): Mutant[] {
  return list.map(([fault, find, replace]) => ({ file, fault, find, replace, tests }))
}

/** Whether a test among those needs Docker. */
export function needsDocker({ tests }: Mutant): boolean {
  return tests.some((file) => file.endsWith(".docker.test.ts"))
}
