import { FitAddon } from "@xterm/addon-fit"
import { type ITheme, Terminal } from "@xterm/xterm"
import "@xterm/xterm/css/xterm.css"
import { texts } from "../../../text/index.ts"
import { openWithScriptStyles } from "./script-styles.ts"

/** The largest side of a terminal that the control channel accepts. */
const maxSide = 1_000
/** Sequences that set a clipboard or make links: what a program prints must not reach so far. */
const forbiddenSequences = [8, 52]

export interface ScreenEvents {
  onInput: (data: Uint8Array<ArrayBuffer>) => void
  onResize: (size: { columns: number; rows: number }) => void
  /** The person wants to leave the terminal by keyboard. */
  onLeave: () => void
}

/** The element of one terminal, which can move from place to place in the page. */
export class Screen implements Disposable {
  readonly element = document.createElement("div")
  readonly #terminal: Terminal
  readonly #fit = new FitAddon()
  readonly #observer = new ResizeObserver(() => this.#fitToElement())
  readonly #themeObserver = new MutationObserver(() => this.#applyTheme())
  readonly #systemTheme = matchMedia("(prefers-color-scheme: dark)")
  readonly #applyTheme = () => {
    this.#terminal.options.theme = themeOf(this.element)
  }
  #isAnswering = true

  constructor(events: ScreenEvents) {
    this.element.className = "terminal-screen"
    this.#terminal = new Terminal({
      cursorBlink: false,
      fontSize: 13,
      minimumContrastRatio: 4.5,
      scrollback: 5_000,
    })
    this.#terminal.loadAddon(this.#fit)
    for (const sequence of forbiddenSequences) this.#terminal.parser.registerOscHandler(sequence, () => true)
    this.#terminal.attachCustomKeyEventHandler((event) => this.#onKey(event, events))
    const send = (data: Uint8Array<ArrayBuffer>) => this.#isAnswering && events.onInput(data)
    this.#terminal.onData((data) => send(new TextEncoder().encode(data)))
    this.#terminal.onBinary((data) => send(Uint8Array.from(data, (character) => character.charCodeAt(0))))
    this.#terminal.onResize(({ cols, rows }) => events.onResize({ columns: cols, rows }))
    for (const type of ["keydown", "paste", "mousedown", "compositionstart"])
      this.element.addEventListener(type, () => (this.#isAnswering = true), { capture: true })
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.#terminal.cols, rows: this.#terminal.rows }
  }

  /** Shows the terminal in an element of the page. */
  attachTo(parent: HTMLElement): void {
    parent.append(this.element)
    if (!this.#terminal.element) {
      this.#terminal.options.fontFamily = getComputedStyle(this.element).fontFamily
      openWithScriptStyles(this.#terminal, this.element)
      this.#terminal.textarea?.setAttribute("aria-label", texts.run.terminal.input)
      this.#observer.observe(this.element)
      this.#themeObserver.observe(document.documentElement, { attributeFilter: ["data-theme"] })
      this.#systemTheme.addEventListener("change", this.#applyTheme)
    }
    this.#applyTheme()
    this.#fitToElement()
  }

  focus(): void {
    this.#terminal.focus()
  }

  /** Resolves when the output is drawn, so that a flood of it waits at its source. */
  write(data: Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(data, resolve))
  }

  /**
   * Clears the terminal, for output that it showed once. Questions in such output were answered
   * then; a second answer would be input of the shell, so there is none until the person types.
   */
  beginReplay(): void {
    this.#terminal.reset()
    this.#isAnswering = false
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect()
    this.#themeObserver.disconnect()
    this.#systemTheme.removeEventListener("change", this.#applyTheme)
    this.#terminal.dispose()
    this.element.remove()
  }

  #fitToElement(): void {
    const size = this.element.isConnected ? this.#fit.proposeDimensions() : undefined
    if (!size || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return
    this.#terminal.resize(Math.min(size.cols, maxSide), Math.min(size.rows, maxSide))
  }

  /** False for keys that are not the program's. */
  #onKey(event: KeyboardEvent, { onLeave }: ScreenEvents): boolean {
    if (event.ctrlKey && event.shiftKey && event.key === "Enter") {
      event.preventDefault()
      if (event.type === "keydown") onLeave()
      return false
    }
    const isCopy = event.ctrlKey && !event.shiftKey && !event.altKey && event.key === "c"
    if (!isCopy || event.type !== "keydown" || !this.#terminal.hasSelection()) return true
    // The browser copies after this event; then Ctrl-C is an interrupt again.
    setTimeout(() => this.#terminal.clearSelection())
    return false
  }
}

/** xterm draws with colours alone, so the variables of the page are resolved here. */
function themeOf(element: HTMLElement): ITheme {
  const { color, backgroundColor, outlineColor } = getComputedStyle(element)
  return {
    foreground: color,
    background: backgroundColor,
    cursor: color,
    cursorAccent: backgroundColor,
    selectionBackground: outlineColor,
    selectionForeground: backgroundColor,
  }
}
