import { SaxesParser } from "saxes"
import { invalid, Refusal } from "./refusal.ts"

export const DAV = "DAV:"
export const mostXml = 65_536
const deepest = 32

export interface Element {
  ns: string
  name: string
  attributes: { ns: string; name: string; value: string }[]
  children: (Element | string)[]
}

/** Parses a body with namespaces and without a DTD; at most 32 levels. */
export function parseXml(body: Buffer): Element {
  const parser = new SaxesParser({ xmlns: true, position: false })
  const open: Element[] = []
  let root: Element | undefined
  parser.on("doctype", () => refuse("a document type declaration is not allowed"))
  parser.on("error", (error) => refuse(error.message))
  parser.on("opentag", (tag) => {
    const element: Element = { ns: tag.uri, name: tag.local, attributes: attributesOf(tag.attributes), children: [] }
    open.at(-1)?.children.push(element)
    root ??= element
    open.push(element)
    if (open.length > deepest) refuse(`elements may be nested ${deepest} deep`)
  })
  parser.on("closetag", () => open.pop())
  parser.on("text", (text) => open.at(-1)?.children.push(text))
  parser.on("cdata", (text) => open.at(-1)?.children.push(text))
  parser.write(decode(body)).close()
  return root ?? refuse("there is no element")
}

function refuse(why: string): never {
  throw invalid(`The body is not the XML that is wanted: ${why}`)
}

function attributesOf(attributes: Record<string, { uri: string; local: string; prefix: string; value: string }>): Element["attributes"] {
  return Object.values(attributes)
    .filter(({ uri }) => uri !== "http://www.w3.org/2000/xmlns/")
    .map(({ uri, local, value }) => ({ ns: uri, name: local, value }))
}

function decode(body: Buffer): string {
  const wide = body[0] === 0xff && body[1] === 0xfe ? "utf-16le" : body[0] === 0xfe && body[1] === 0xff ? "utf-16be" : "utf-8"
  try {
    return new TextDecoder(wide, { fatal: true }).decode(body)
  } catch {
    throw new Refusal(400, "invalid", "The body's XML is neither UTF-8 nor UTF-16")
  }
}

export function elementsOf(element: Element): Element[] {
  return element.children.filter((child) => typeof child !== "string")
}

export function child(element: Element, ns: string, name: string): Element | undefined {
  return elementsOf(element).find((one) => one.ns === ns && one.name === name)
}

export function isDav(element: Element, name: string): boolean {
  return element.ns === DAV && element.name === name
}

export function escapeXml(text: string): string {
  return special.test(text) ? text.replace(specials, (c) => entities[c] ?? "\ufffd") : text
}
// Control characters may stand in file names, but in no form in XML 1.0.
const special = /[&<>"\p{Cc}\ufffe\uffff]/u
const specials = /[&<>"\p{Cc}\ufffe\uffff]/gu
const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
}

/** An empty element of that name: what stands for a property in an answer. */
export function emptyElement(ns: string, name: string): string {
  if (ns === DAV) return `<D:${name}/>`
  return ns === "" ? `<${name}/>` : `<x:${name} xmlns:x="${escapeXml(ns)}"/>`
}

/** Writes an element so that it can stand anywhere in our answers, where `D:` is DAV's prefix. */
export function serializeXml(element: Element): string {
  const { ns, name, attributes, children } = element
  const tag = ns === DAV ? `D:${name}` : ns === "" ? name : `x:${name}`
  let text = `<${tag}`
  if (ns !== DAV && ns !== "") text += ` xmlns:x="${escapeXml(ns)}"`
  attributes.forEach((attribute, i) => {
    text += attributeText(attribute, i)
  })
  if (children.length === 0) return `${text}/>`
  const content = children.map((one) => (typeof one === "string" ? escapeXml(one) : serializeXml(one))).join("")
  return `${text}>${content}</${tag}>`
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace"

function attributeText({ ns, name, value }: Element["attributes"][number], i: number): string {
  const text = escapeXml(value)
  if (ns === "") return ` ${name}="${text}"`
  if (ns === xmlNamespace) return ` xml:${name}="${text}"`
  return ` xmlns:a${i}="${escapeXml(ns)}" a${i}:${name}="${text}"`
}
