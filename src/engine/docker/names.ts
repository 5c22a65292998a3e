import { createHash } from "node:crypto"

/** Short names of an instance in the kernel, where names of devices have 15 characters and names of chains 28. */
export interface KernelNames {
  /** Of every bridge of the instance; the number of its subnet follows in hexadecimal. */
  bridgePrefix: string
  /** Which connections to the host, through it, and from it are looked at. */
  chains: { input: string; forward: string; output: string }
}

export const chainPrefix = "QUAYSIDE-"

export function kernelNames(instance: string): KernelNames {
  const tag = createHash("sha256").update(instance).digest("hex").slice(0, 7)
  const chain = (end: string) => `${chainPrefix}${tag}-${end}`
  return { bridgePrefix: `qs${tag}-`, chains: { input: chain("IN"), forward: chain("FWD"), output: chain("OUT") } }
}
