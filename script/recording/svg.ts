import type { Frame, Span } from "./screen.ts"

const letter = { width: 8.43, height: 19, size: 14 }
const margin = 16
/** How long the last screen stays before the recording begins again. */
const restMs = 4_000
/** Changes that follow each other more quickly are shown as one. */
const minFrameMs = 20
const background = "#16181d"
const foreground = "#d8dee9"
const colors = ["#4c566a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9"]

/**
 * Draws frames as an SVG that moves by itself in a web page, without script. Each frame stands
 * beside the one before, and a style moves the strip. Without motion, it shows the last frame.
 */
export function drawSvg(all: readonly Frame[]): string {
  const frames = all.filter((frame, i) => (all[i + 1]?.atMs ?? Number.POSITIVE_INFINITY) - frame.atMs >= minFrameMs || i === all.length - 1)
  const columns = Math.max(...frames.flatMap(({ lines }) => lines.flat().map(({ column, text }) => column + text.length)))
  const rows = Math.max(...frames.map(({ lines }) => lines.findLastIndex((line) => line.length > 0) + 1))
  const width = Math.ceil(columns * letter.width + 2 * margin)
  const height = rows * letter.height + 2 * margin
  const totalMs = (frames.at(-1)?.atMs ?? 0) + restMs
  const steps = frames.map(({ atMs }, i) => `${((atMs / totalMs) * 100).toFixed(3)}%{transform:translateX(${-i * width}px)}`)
  const lineIds = new Map<string, string>()
  const strip = frames.map(({ lines }, i) => drawFrame(lines, i * width, lineIds))
  const definitions = [...lineIds].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>A session of the command line</title>
<style>
text{font:${letter.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${foreground};white-space:pre}
.b{font-weight:bold}.d{opacity:.7}
${colors.map((color, i) => `.c${i}{fill:${color}}`).join("")}
#strip{animation:play ${totalMs}ms steps(1,end) infinite}
@keyframes play{0%{transform:translateX(0)}${steps.join("")}}
@media (prefers-reduced-motion:reduce){#strip{animation:none;transform:translateX(${-(frames.length - 1) * width}px)}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="${background}"/>
<defs>
${definitions.join("\n")}
</defs>
<g id="strip">
${strip.join("\n")}
</g>
</svg>
`
}

/** A line is defined once and used in each frame that has it. */
function drawFrame(lines: readonly Span[][], x: number, ids: Map<string, string>): string {
  const uses = lines.flatMap((spans, row) => {
    if (spans.length === 0) return []
    const drawn = spans.map(drawSpan).join("")
    const id = ids.get(drawn) ?? `l${ids.size}`
    ids.set(drawn, id)
    return [`<use href="#${id}" x="${x + margin}" y="${margin + (row + 0.75) * letter.height}"/>`]
  })
  return `<g>${uses.join("")}</g>`
}

function drawSpan({ column, text, color, isBold, isDim }: Span): string {
  const classes = [isBold ? "b" : "", isDim ? "d" : "", color === undefined ? "" : `c${color % 8}`].filter(Boolean).join(" ")
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
  const length = (text.length * letter.width).toFixed(2)
  const place = `x="${(column * letter.width).toFixed(2)}" textLength="${length}"`
  return `<text ${place}${classes ? ` class="${classes}"` : ""}>${escaped}</text>`
}
