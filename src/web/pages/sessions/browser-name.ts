/** In the order in which they are looked for: some names also stand in those of other browsers. */
const browsers: readonly (readonly [name: string, mark: RegExp])[] = [
  ["Edge", /\bEdgA?\//],
  ["Opera", /\bOPR\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Chrome", /(?:Chrome|Chromium|CriOS)\//],
  ["Safari", /\bSafari\//],
]
const systems: readonly (readonly [name: string, mark: RegExp])[] = [
  ["Windows", /\bWindows\b/],
  ["Android", /\bAndroid\b/],
  ["iOS", /\b(?:iPhone|iPad|iPod)\b/],
  ["macOS", /\bMac OS X\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/],
]

const nameIn = (list: typeof browsers, text: string) => list.find(([, mark]) => mark.test(text))?.[0]

/**
 * The names of browser and system in a `User-Agent`. Undefined if they are not known; a system
 * alone says too little.
 */
export function browserName(userAgent: string): { browser: string; system: string | undefined } | undefined {
  const browser = nameIn(browsers, userAgent)
  return browser === undefined ? undefined : { browser, system: nameIn(systems, userAgent) }
}
