/** Texts that were too long for the log: their ends stand in it, the whole is fetched by its digest. */

export interface Blob {
  digest: string;
  bytes: number;
  head: string;
  tail: string;
}

export function blobOf(value: unknown): Blob | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const it = value as Record<string, unknown>;
  if (typeof it['$blob'] !== 'string') return undefined;
  return { digest: it['$blob'], bytes: Number(it['bytes'] ?? 0), head: String(it['head'] ?? ''), tail: String(it['tail'] ?? '') };
}

/** A text, or both ends of one that is kept elsewhere, with how much is missing between them. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const blob = blobOf(value);
  if (!blob) return '';
  const shown = new TextEncoder().encode(blob.head + blob.tail).length;
  return `${blob.head}\n… ${Math.max(0, blob.bytes - shown).toLocaleString('en')} bytes are not shown here …\n${blob.tail}`;
}
