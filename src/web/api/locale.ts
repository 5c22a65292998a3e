import { useSyncExternalStore } from "react"

const key = "quayside.locale"
/** Empty: the browser's. */
export const locales = ["", "en-GB", "en-US", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt-BR", "sv", "tr", "uk", "zh-CN"] as const

const listeners = new Set<() => void>()

/** The language of dates that the person chose; undefined is the browser's. */
function currentLocale(): string | undefined {
  const stored = globalThis.localStorage?.getItem(key) ?? ""
  return stored !== "" && (locales as readonly string[]).includes(stored) ? stored : undefined
}

export function setLocale(locale: string): void {
  localStorage.setItem(key, locale)
  for (const each of listeners) each()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The chosen language; components that show dates render again when it changes. */
export function useLocale(): string | undefined {
  return useSyncExternalStore(subscribe, currentLocale)
}

/** The name of a language in that language. */
export function localeName(locale: string): string {
  return new Intl.DisplayNames([locale], { type: "language" }).of(locale) ?? locale
}
