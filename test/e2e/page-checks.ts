import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

interface Axe {
  run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>
}

const axeSource = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** The serious violations that axe finds by all rules, or by those that are named. */
export async function seriousViolations(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(await axeSource)
  return page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as { axe: Axe }
    const { violations } = await axe.run(runOnly ? { runOnly } : {})
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  }, rules)
}

/** Controls that overlap, texts that are cut, and a page that is wider than its window. */
export async function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const label = (element: Element) => (element.getAttribute("aria-label") ?? element.textContent ?? element.tagName).trim().slice(0, 60)
    const scope = document.querySelector("[role=dialog]:not([hidden])") ?? document.body
    const isShown = (element: Element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    const shown = [...scope.querySelectorAll("*")].filter((element) => isShown(element) && !element.closest(".visually-hidden, .skip-link"))
    const isFixed = (element: Element): boolean => {
      for (let each: Element | null = element; each; each = each.parentElement)
        if (["fixed", "sticky"].includes(getComputedStyle(each).position)) return true
      return false
    }
    const controls = shown
      .filter((element) => element.matches("a, button, input, textarea, select, [role=combobox]") && !isFixed(element))
      .map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 2 && box.height > 2)
    const overlapping = controls.flatMap((one, i) =>
      controls
        .slice(i + 1)
        .filter(({ element, box }) => {
          if (one.element.contains(element) || element.contains(one.element)) return false
          const width = Math.min(one.box.right, box.right) - Math.max(one.box.left, box.left)
          const height = Math.min(one.box.bottom, box.bottom) - Math.max(one.box.top, box.top)
          return width > 2 && height > 2
        })
        .map(({ element }) => `“${label(one.element)}” overlaps “${label(element)}”`),
    )
    const cut = shown
      .filter((element) => {
        const { overflowX, overflowY } = getComputedStyle(element)
        const isClipped = (overflow: string) => overflow === "hidden" || overflow === "clip"
        if (element instanceof SVGElement || element.matches("input")) return false
        return (
          (isClipped(overflowX) && element.scrollWidth > element.clientWidth + 1) ||
          (isClipped(overflowY) && element.scrollHeight > element.clientHeight + 1)
        )
      })
      .map((element) => `“${label(element)}” is cut`)
    const { scrollWidth, clientWidth } = document.documentElement
    return [...overlapping, ...cut, ...(scrollWidth > clientWidth ? [`the page is ${scrollWidth - clientWidth} px too wide`] : [])]
  })
}

/** Plain words that stand on two lines, as in columns that are too narrow for them. */
export async function brokenWords(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const broken: string[] = []
    while (texts.nextNode()) {
      const text = texts.currentNode as Text
      if (!text.parentElement?.checkVisibility() || text.parentElement.closest("code, pre, math")) continue
      for (const { 0: word, index } of text.data.matchAll(/(?<![^\s])[A-Za-z]{2,16}(?![^\s.,:])/g)) {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + word.length)
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
        if (lines.size > 1) broken.push(`“${word}” is broken`)
      }
    }
    return broken
  })
}

/** Tables that do not fill their frame, or must be scrolled sideways in it. */
export async function tableFaults(page: Page, mayScroll: boolean): Promise<string[]> {
  const misfits = await page.$$eval(".table-frame", (frames) =>
    frames.map((frame) => ({
      name: frame.getAttribute("aria-label"),
      excess: (frame.querySelector("table")?.offsetWidth ?? 0) - frame.clientWidth,
    })),
  )
  return misfits
    .filter(({ excess }) => excess < -1 || (excess > 0 && !mayScroll))
    .map(({ name, excess }) => `the table “${name}” is ${Math.abs(excess)} px too ${excess > 0 ? "wide" : "narrow"}`)
}
