const units: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** A quantity such as `1500m` or `16Gi`; 0 for anything else. */
export function parseQuantity(text: string): number {
  const [, amount = "", unit = ""] = /^([0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(text) ?? []
  return Number(amount) * (units[unit] ?? 0)
}
