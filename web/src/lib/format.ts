/** Times, sizes and names as short words. */

const UNITS: [number, string][] = [[86_400, 'd'], [3_600, 'h'], [60, 'm']];

/** How long ago, in one unit: "now", "4m", "3h", "2d". */
export function age(from: string | number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - ms(from)) / 1000));
  if (seconds < 10) return 'now';
  for (const [size, unit] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  return `${seconds}s`;
}

/** A length of time in at most two units: "42s", "3m 05s", "2h 10m". */
export function duration(millis: number): string {
  if (millis < 1000) return `${Math.max(0, Math.round(millis))}ms`;
  const seconds = Math.floor(millis / 1000);
  if (seconds < 60) return millis < 10_000 ? `${(millis / 1000).toFixed(1)}s` : `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${pad(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ${pad(Math.floor((seconds % 3600) / 60))}m`;
  return `${Math.floor(seconds / 86_400)}d ${Math.floor((seconds % 86_400) / 3600)}h`;
}

/** Time left until a deadline: "1:05", "58s"; empty when there is none. */
export function countdown(until: string | null | undefined, now: number): { text: string; over: boolean; soon: boolean } | undefined {
  if (!until) return undefined;
  const left = Math.ceil((ms(until) - now) / 1000);
  if (left <= 0) return { text: '0s', over: true, soon: true };
  if (left < 60) return { text: `${left}s`, over: false, soon: left <= 20 };
  if (left < 3600) return { text: `${Math.floor(left / 60)}:${pad(left % 60)}`, over: false, soon: false };
  return { text: duration(left * 1000), over: false, soon: false };
}

/** A node's name; one that was made by a machine is cut to what tells it apart. */
export function nodeName(node: string): string {
  return /^[0-9a-f]{32}$/.test(node) ? `node ${node.slice(-8)}` : node;
}

export function clock(at: string | undefined): string {
  return at ? new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' }) : '';
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

export function compact(n: number): string {
  if (n < 1000) return String(n);
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

/** The end of a path, which tells more than its beginning. */
export function tail(path: string, limit = 34): string {
  return path.length <= limit ? path : `…${path.slice(path.length - limit + 1)}`;
}

function ms(at: string | number): number {
  return typeof at === 'number' ? at : Date.parse(at);
}

const pad = (n: number) => String(n).padStart(2, '0');
