import { Lexer, type Token, Tokenizer } from "marked"
import { mathsExtensions } from "./maths-tokens.ts"

/**
 * The tokens of a text in GitHub's flavour of Markdown, with formulas. One plain block is the
 * answer for a text that the parser cannot read, for instance nested too deeply, or that takes it
 * more than `maxMs`. Its time grows with the square of a hostile text, which would stop everybody's
 * page that shows it.
 */
export function markdownTokens(text: string, maxMs: number): readonly Token[] {
  try {
    return new Lexer({ gfm: true, extensions: mathsExtensions, tokenizer: new HurriedTokenizer(performance.now() + maxMs) }).lex(text)
  } catch {
    return [{ type: "code", raw: text, text }]
  }
}

/** Longer addresses between words are no links. Browsers follow few that are longer. */
const maxAddress = 2_000

/**
 * Throws after a time, which it checks when the lexer asks for `space` and `escape`: it does so for
 * each part of a text. No other method may take long.
 */
class HurriedTokenizer extends Tokenizer {
  readonly #until: number

  constructor(until: number) {
    super()
    this.#until = until
  }

  override space(src: string) {
    this.#checkTime()
    return super.space(src)
  }

  override escape(src: string) {
    this.#checkTime()
    return super.escape(src)
  }

  /** Its rules take the square of an address's length, in one call. */
  override url(src: string) {
    const link = super.url(src.slice(0, maxAddress))
    return link && link.raw.length < maxAddress ? link : undefined
  }

  #checkTime(): void {
    if (performance.now() > this.#until) throw new RangeError("The text takes too long")
  }
}
