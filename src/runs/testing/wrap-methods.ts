export type AnyMethod = (...args: unknown[]) => unknown

/** The same object with its methods wrapped and some members replaced. */
export function wrapMethods<T extends object>(real: T, wrap: (name: string, method: AnyMethod) => AnyMethod, replaced: Partial<T> = {}): T {
  const wrapped = new Map<string | symbol, AnyMethod>()
  return new Proxy(real, {
    get(target, name) {
      const known = wrapped.get(name)
      if (known) return known
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof T]
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== "function") return member
      const method = wrap(String(name), member.bind(target) as AnyMethod)
      wrapped.set(name, method)
      return method
    },
  })
}
