/** The few pictures that the console uses, drawn in the text's colour. */

const PATHS = {
  inbox: 'M3 9.5 4.8 3.6A1 1 0 0 1 5.8 3h4.4a1 1 0 0 1 1 .6L13 9.5v2.7a.8.8 0 0 1-.8.8H3.8a.8.8 0 0 1-.8-.8zm0 0h3l.8 1.5h2.4l.8-1.5h3',
  plus: 'M8 3.2v9.6M3.2 8h9.6',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'M4 4l8 8M12 4l-8 8',
  chevron: 'M6 4l4 4-4 4',
  terminal: 'M3 4.5 6.5 8 3 11.5M8 12h5',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  globe: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM2.4 8h11.2M8 2.2c2 2 2.3 3.9 2.3 5.8S10 11.800 8 13.800C6 11.800 5.700 9.900 5.700 8S6 4.200 8 2.200',
  tool: 'M9.8 3.1a3 3 0 0 0-3.500 3.900L2.700 10.600a1.300 1.300 0 0 0 0 1.900l.8.8a1.300 1.300 0 0 0 1.900 0L9 9.700a3 3 0 0 0 3.900-3.500L11 8.100 8.900 7.100 7.900 5z',
  spark: 'M8 2.500 9.300 6.700 13.500 8 9.300 9.300 8 13.500 6.700 9.300 2.500 8l4.200-1.300z',
  list: 'M2.800 4.300l.9.9L5.300 3.500M2.800 8.300l.9.9 1.600-1.700M2.800 12.300l.9.9 1.600-1.700M7.500 4.500h6M7.500 8.500h6M7.500 12.500h6',
  question: 'M5.800 6a2.200 2.200 0 1 1 3.300 1.900C8.400 8.300 8 8.800 8 9.600M8 12.200v.1',
  form: 'M3 3h10v3.200H3zM3 8.800h10v1.600H3M3 13h6',
  key: 'M9.200 9a3.200 3.200 0 1 0-2.300-2.300L2.500 11.100v2.400h2.400v-1.600h1.600v-1.600z',
  image: 'M2.500 3.500h11v9h-11zM2.500 11l3.300-3.300 2.500 2.500 1.700-1.700 3.500 3.500M10.500 6.300v.1',
  warn: 'M8 2.500 14 13H2zM8 6.500v3M8 11.300v.1',
  check: 'M3 8.500 6.500 12 13 4.500',
  stop: 'M4.500 4.500h7v7h-7z',
  send: 'M2.800 8h9.400M8.200 4l4 4-4 4',
  agent: 'M8 2.500v2M4.200 4.500h7.600a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H4.200a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1zM6 8v.8M10 8v.8',
  clock: 'M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM8 5v3.200l2 1.300',
  swap: 'M3 5.500h9.500M10 3l2.500 2.500L10 8M13 10.500H3.500M6 8l-2.500 2.500L6 13',
  dot: 'M8 7.900v.2',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon(props: { name: IconName; class?: string }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" class={`shrink-0 ${props.class ?? ''}`}>
      <path d={PATHS[props.name]} />
    </svg>
  );
}

export function Spinner(props: { class?: string }) {
  return (
    <svg viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" aria-hidden="true" class={`spin shrink-0 ${props.class ?? ''}`}>
      <path d="M8 2.500a5.500 5.500 0 1 1-5.500 5.500" />
    </svg>
  );
}
