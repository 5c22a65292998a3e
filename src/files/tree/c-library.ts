type Ffi = NonNullable<ReturnType<typeof process.getBuiltinModule<"node:ffi">>>

/** Loads functions at the first call. Undefined if Node.js cannot call the C library here. */
export function lazyFunctions<T>(load: (ffi: Ffi) => T): () => T | undefined {
  let loaded: { functions: T | undefined } | undefined
  return () => {
    loaded ??= { functions: loadIfAllowed(load) }
    return loaded.functions
  }
}

function loadIfAllowed<T>(load: (ffi: Ffi) => T): T | undefined {
  try {
    return load(process.getBuiltinModule("node:ffi"))
  } catch {
    return undefined
  }
}
