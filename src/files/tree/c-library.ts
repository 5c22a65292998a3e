import { ignoreErrors } from "./ignore-errors.ts"

type Ffi = NonNullable<ReturnType<typeof process.getBuiltinModule<"node:ffi">>>

/** Loads functions at the first call. Undefined if Node.js cannot call the C library here. */
export function lazyFunctions<T>(load: (ffi: Ffi) => T): () => T | undefined {
  let loaded: { functions: T | undefined } | undefined
  return () => {
    loaded ??= { functions: ignoreErrors(() => load(process.getBuiltinModule("node:ffi"))) }
    return loaded.functions
  }
}
