import type { MarkedToken, Token, Tokens } from "marked"
import { Component, createContext, type ReactNode, use, useMemo } from "react"
import { LongText } from "../long-text/long-text.tsx"
import { CodeBlock } from "./code-block.tsx"
import { decodeReferences, safeHref } from "./markdown-text.ts"
import { markdownTokens } from "./markdown-tokens.ts"
import { Maths } from "./maths.tsx"
import { isMaths, type MathsToken } from "./maths-tokens.ts"
import { RenderBudgetContext, useRenderBudget } from "./render-budget-context.ts"
import "./markdown.css"

/** Deeper parts are shown as they were written. */
const maxDepth = 24

/** Longer paragraphs are shown as they were written. */
const maxParagraph = 8_000

/** A text with more images shows all of them as links: each one is a request. */
const maxImages = 50

/** Renders an image of a text; undefined for one that is no file of its dataset. */
export type RenderImage = (image: { href: string; alt: string }) => ReactNode | undefined

const ImageContext = createContext<RenderImage>(() => undefined)

/**
 * Markdown in GitHub's flavour, rendered as elements. Markup inside of it is shown as text, and
 * images that `renderImage` does not know as links: a page loads nothing from elsewhere.
 */
export function Markdown({ text, renderImage }: { text: string; renderImage?: RenderImage | undefined }) {
  const budget = useRenderBudget(text)
  const tokens = useMemo(() => budget.parse((maxMs) => markdownTokens(text, maxMs)), [text, budget])
  const content = (
    <PlainOnError key={text} text={text}>
      <RenderBudgetContext value={budget}>
        <div className="markdown">{blocks(tokens, 0)}</div>
      </RenderBudgetContext>
    </PlainOnError>
  )
  if (!renderImage || text.split("![").length > maxImages + 1) return content
  return <ImageContext value={renderImage}>{content}</ImageContext>
}

class PlainOnError extends Component<{ text: string; children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false }
  static getDerivedStateFromError() {
    return { hasFailed: true }
  }
  override render() {
    return this.state.hasFailed ? <LongBlock text={this.props.text} /> : this.props.children
  }
}

function blocks(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens never move
  return tokens?.map((token, i) => <Part key={i} token={token as MarkedToken} depth={depth + 1} />)
}

function Part({ token, depth }: { token: MarkedToken | MathsToken; depth: number }): ReactNode {
  if (depth > maxDepth) return <LongText text={token.raw} />
  if (isTooLong(token)) return <LongBlock text={token.raw} />
  if (isMaths(token)) return <Maths text={token.text} isBlock={token.isBlock} />
  switch (token.type) {
    case "heading":
      return <Heading depth={token.depth}>{blocks(token.tokens, depth)}</Heading>
    case "paragraph":
      return <p>{blocks(token.tokens, depth)}</p>
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth)}</blockquote>
    case "list":
      return <ListPart list={token} depth={depth} />
    case "table":
      return <TablePart table={token} depth={depth} />
    case "code":
      return token.lang === "math" ? <Maths text={token.text} isBlock /> : <CodeBlock text={token.text} language={languageOf(token)} />
    case "hr":
      return <hr />
    case "space":
    case "def":
      return null
    default:
      return <InlinePart token={token} depth={depth} />
  }
}

function InlinePart({ token, depth }: { token: MarkedToken; depth: number }): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{blocks(token.tokens, depth)}</strong>
    case "em":
      return <em>{blocks(token.tokens, depth)}</em>
    case "del":
      return <del>{blocks(token.tokens, depth)}</del>
    case "codespan":
      return <code>{token.text}</code>
    case "br":
      return <br />
    case "link":
      return <LinkPart href={token.href}>{blocks(token.tokens, depth)}</LinkPart>
    case "image":
      return <ImagePart image={token} />
    case "checkbox":
      return <input type="checkbox" checked={token.checked} disabled readOnly aria-label={token.raw.trim()} />
    case "text":
      return token.tokens ? blocks(token.tokens, depth) : decodeReferences(token.text)
    case "escape":
      return token.text
    default:
      return <LongText text={token.raw} />
  }
}

/**
 * Whether a paragraph, heading or cell would take a browser seconds to lay out, as one text of all
 * that is in it.
 */
function isTooLong(token: MarkedToken | MathsToken): boolean {
  if (isMaths(token)) return false
  if (token.type === "table") return [...token.header, ...token.rows.flat()].some(({ text }) => text.length > maxParagraph)
  return (token.type === "paragraph" || token.type === "heading" || token.type === "text") && token.raw.length > maxParagraph
}

function LongBlock({ text }: { text: string }) {
  return (
    <pre className="code-block" data-wrap="">
      <LongText text={text} />
    </pre>
  )
}

/** The page's own headings are above: those of a text begin below them. */
function Heading({ depth, children }: { depth: number; children: ReactNode }) {
  const Level = (["h3", "h4", "h5"] as const)[Math.min(depth, 3) - 1] ?? "h5"
  return <Level data-depth={depth}>{children}</Level>
}

function LinkPart({ href, children }: { href: string; children: ReactNode }) {
  const safe = safeHref(href, location.href)
  if (safe === undefined) return children
  const isHere = new URL(safe).origin === location.origin
  return (
    <a href={safe} {...(isHere ? {} : { target: "_blank", rel: "noreferrer noopener" })}>
      {children}
    </a>
  )
}

function ImagePart({ image: { href, text } }: { image: Tokens.Image }) {
  const alt = decodeReferences(text)
  return use(ImageContext)({ href: decodeReferences(href), alt }) ?? <LinkPart href={href}>{alt || href}</LinkPart>
}

/** The first word after the fence, as GitHub reads it. */
function languageOf({ lang }: Tokens.Code): string | undefined {
  return lang?.match(/^[\w+#-]{1,30}/)?.[0].toLowerCase()
}

function ListPart({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items never move
    <li key={i} data-task={item.task ? "" : undefined}>
      {blocks(item.tokens, depth)}
    </li>
  ))
  return list.ordered ? <ol {...(typeof list.start === "number" ? { start: list.start } : {})}>{items}</ol> : <ul>{items}</ul>
}

function TablePart({ table, depth }: { table: Tokens.Table; depth: number }) {
  const align = (i: number) => ({ textAlign: table.align[i] ?? "left" }) as const
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
    <div className="table-frame" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {table.header.map((cell, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cells never move
              <th key={i} scope="col" style={align(i)}>
                {blocks(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, r) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never move
            <tr key={r}>
              {row.map((cell, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells never move
                <td key={i} style={align(i)}>
                  {blocks(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
