import type { Terminal } from "@xterm/xterm"

const { createElement } = document
const { setAttribute } = HTMLSpanElement.prototype

/**
 * Opens a terminal in an element of the page. xterm (6.0.0) makes style elements while it opens,
 * and later spans with style attributes; the page's policy rejects both, and `documentOverride`
 * does not reach the viewport and the rows. So they become sheets and properties set by script.
 * Markup gains nothing: the browser applies the policy to what it parses.
 */
export function openWithScriptStyles(terminal: Terminal, parent: HTMLElement): void {
  HTMLSpanElement.prototype.setAttribute = setSpanAttribute
  document.createElement = ((name: string, options?: ElementCreationOptions) =>
    name === "style" ? styleHolder() : createElement.call(document, name, options)) as Document["createElement"]
  try {
    terminal.open(parent)
  } finally {
    Reflect.deleteProperty(document, "createElement")
  }
}

function setSpanAttribute(this: HTMLSpanElement, name: string, value: string): void {
  if (name === "style") this.style.cssText = value
  else setAttribute.call(this, name, value)
}

/** Stands for a style element: its text becomes a sheet of the document. */
function styleHolder(): HTMLElement {
  const sheet = new CSSStyleSheet()
  const holder = createElement.call(document, "span")
  holder.hidden = true
  document.adoptedStyleSheets.push(sheet)
  Object.defineProperty(holder, "textContent", { set: (css: string) => sheet.replaceSync(css) })
  holder.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet)
    Element.prototype.remove.call(holder)
  }
  return holder
}
