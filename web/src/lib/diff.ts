/** A file change as numbered lines: whole content for added and deleted files, hunks for updates. */

import { textOf } from './blob';
import type { FileChange } from './types';

export interface DiffLine {
  kind: 'add' | 'del' | 'same' | 'hunk' | 'note';
  before?: number;
  after?: number;
  text: string;
}

export interface DiffFile {
  path: string;
  kind: string;
  movePath?: string;
  lines: DiffLine[];
  added: number;
  removed: number;
}

export function diffFile(change: FileChange): DiffFile {
  const lines = change.kind === 'add' || change.kind === 'delete' ? whole(change) : hunks(change.diff);
  return {
    path: change.path,
    kind: change.kind,
    ...(change.movePath ? { movePath: change.movePath } : {}),
    lines,
    added: lines.filter((it) => it.kind === 'add').length,
    removed: lines.filter((it) => it.kind === 'del').length,
  };
}

function whole(change: FileChange): DiffLine[] {
  if (change.diff === '') return [];
  const rows = change.diff.split('\n');
  const newline = rows.at(-1) === '';
  if (newline) rows.pop();
  const res = rows.map((text, i): DiffLine => (change.kind === 'add' ? { kind: 'add', after: i + 1, text } : { kind: 'del', before: i + 1, text }));
  if (!newline) res.push({ kind: 'note', text: 'No newline at end of file' });
  return res;
}

function hunks(diff: string): DiffLine[] {
  const res: DiffLine[] = [];
  let before = 1;
  let after = 1;
  const rows = diff.split('\n');
  if (rows.at(-1) === '') rows.pop();
  for (const row of rows) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(row);
    if (head) {
      before = Number(head[1]);
      after = Number(head[2]);
      res.push({ kind: 'hunk', text: row });
    } else if (row.startsWith('+')) res.push({ kind: 'add', after: after++, text: row.slice(1) });
    else if (row.startsWith('-')) res.push({ kind: 'del', before: before++, text: row.slice(1) });
    else if (row.startsWith('\\')) res.push({ kind: 'note', text: row.slice(1).trim() });
    else if (row.startsWith(' ') || row === '') res.push({ kind: 'same', before: before++, after: after++, text: row.slice(1) });
    else res.push({ kind: 'note', text: row });
  }
  return res;
}

/** A git-style diff of a whole turn, cut into its files. */
export function splitGitDiff(diff: string): FileChange[] {
  const res: FileChange[] = [];
  for (const part of diff.split(/^(?=diff --git )/m)) {
    if (!part.startsWith('diff --git ')) continue;
    const head = part.slice(0, Math.max(0, part.search(/^@@ /m))) || part;
    const before = /^--- (?:a\/)?(.*)$/m.exec(head)?.[1];
    const after = /^\+\+\+ (?:b\/)?(.*)$/m.exec(head)?.[1];
    const fallback = /^diff --git a\/(.*) b\/(.*)$/m.exec(head);
    const body = part.slice(head.length);
    const added = /^new file mode/m.test(head);
    const deleted = /^deleted file mode/m.test(head);
    const path = (deleted ? before : after) ?? fallback?.[2] ?? '';
    const movePath = /^rename to (.*)$/m.exec(head)?.[1];
    res.push({ path: movePath ? (fallback?.[1] ?? path) : path, kind: added ? 'added' : deleted ? 'deleted' : 'update', diff: body, ...(movePath ? { movePath } : {}) });
  }
  return res;
}

/** Codex's own change objects, where `kind` is an object, in the form the rest of the console reads. */
export function changesOf(value: unknown): FileChange[] {
  if (!Array.isArray(value)) return [];
  return value.map((raw): FileChange => {
    const change = (raw ?? {}) as Record<string, unknown>;
    const kind = change['kind'];
    const tagged = typeof kind === 'object' && kind !== null ? (kind as Record<string, unknown>) : undefined;
    const move = change['movePath'] ?? tagged?.['move_path'] ?? tagged?.['movePath'];
    return {
      path: String(change['path'] ?? ''),
      kind: String(tagged ? tagged['type'] : kind ?? 'update'),
      diff: textOf(change['diff']),
      ...(typeof move === 'string' ? { movePath: move } : {}),
    };
  });
}
