const { createElement } = Document.prototype
const { setAttribute } = Element.prototype
let isInstalled = false

/**
 * xterm makes style elements and style attributes, which the page's policy rejects; its
 * `documentOverride` does not reach the viewport and the rows (6.0.0). From the first terminal on,
 * both become sheets and properties set by script. Markup gains nothing: the browser applies the
 * policy to what it parses.
 */
export function styleByScript(): void {
  if (isInstalled) return
  isInstalled = true
  Element.prototype.setAttribute = function (name: string, value: string) {
    if (name === "style" && this instanceof HTMLElement) this.style.cssText = value
    else setAttribute.call(this, name, value)
  }
  document.createElement = ((name: string, options?: ElementCreationOptions) =>
    name === "style" ? styleHolder() : createElement.call(document, name, options)) as Document["createElement"]
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
