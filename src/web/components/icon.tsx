/** Outlines of 24 by 24, drawn with round lines. */
const paths = {
  home: "M3 11l9-7 9 7v9a1 1 0 0 1-1 1h-5v-6H9v6H4a1 1 0 0 1-1-1z",
  history: "M3 12a9 9 0 1 0 3-6.7L3 8M3 3v5h5M12 7v5l3 2",
  play: "M7 4l13 8-13 8z",
  stop: "M6 6h12v12H6z",
  open: "M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5",
  repeat: "M4 12a8 8 0 0 1 14-5.3L20 9M20 4v5h-5M20 12a8 8 0 0 1-14 5.3L4 15M4 20v-5h5",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3 2",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12l5 5 9-10",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  more: "M5 11a1 1 0 1 0 0 2 1 1 0 0 0 0-2M12 11a1 1 0 1 0 0 2 1 1 0 0 0 0-2M19 11a1 1 0 1 0 0 2 1 1 0 0 0 0-2",
  menu: "M4 6h16M4 12h16M4 18h16",
  down: "M6 9l6 6 6-6",
  left: "M15 6l-6 6 6 6",
  right: "M9 6l6 6-6 6",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  download: "M12 4v11M7 11l5 5 5-5M4 20h16",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4 21c0-4 4-6 8-6s8 2 8 6",
  book: "M5 4h13a1 1 0 0 1 1 1v15H6a2 2 0 0 1-2-2V5a1 1 0 0 1 1-1M4 18a2 2 0 0 1 2-2h13",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  database: "M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0",
  box: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  folder: "M3 6a1 1 0 0 1 1-1h5l2 3h9a1 1 0 0 1 1 1v10H3z",
  people: "M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M2 20c0-4 3-6 7-6s7 2 7 6M16 5.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2.5.7 4 2.5 4 5.5",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  share: "M12 15V4M8 8l4-4 4 4M5 12v8h14v-8",
} as const
export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}
