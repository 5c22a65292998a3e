export type Method = (...args: unknown[]) => unknown

/** The same object with its methods wrapped and some members replaced. */
export function wrapMethods<T extends object>(real: T, wrap: (name: string, method: Method) => Method, replaced: Partial<T> = {}): T {
  const wrapped = new Map<string | symbol, Method>()
  return new Proxy(real, {
    get(target, name) {
      const known = wrapped.get(name)
      if (known) return known
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof T]
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== "function") return member
      const method = wrap(String(name), member.bind(target) as Method)
      wrapped.set(name, method)
      return method
    },
  })
}
