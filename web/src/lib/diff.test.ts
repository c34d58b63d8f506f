import { expect, it } from 'vitest';
import { changesOf, diffFile, splitGitDiff } from './diff';

it('a new file is its whole content', () => {
  const file = diffFile({ path: 'a.txt', kind: 'add', diff: 'one\n+two\n' });
  expect(file.lines).toEqual([{ kind: 'add', after: 1, text: 'one' }, { kind: 'add', after: 2, text: '+two' }]);
  expect([file.added, file.removed]).toEqual([2, 0]);
});

it('a deleted file is its old content', () => {
  expect(diffFile({ path: 'a', kind: 'delete', diff: 'bye' }).lines).toEqual([{ kind: 'del', before: 1, text: 'bye' }, { kind: 'note', text: 'No newline at end of file' }]);
});

it('an empty file has no lines', () => {
  expect(diffFile({ path: 'a', kind: 'add', diff: '' }).lines).toEqual([]);
});

it('hunks are numbered on both sides', () => {
  const file = diffFile({ path: 'a', kind: 'update', diff: '@@ -3,3 +3,4 @@ fn x\n same\n-old\n+new\n+more\n last\n\\ No newline at end of file\n@@ -20 +21 @@\n-x\n+y\n' });
  expect(file.lines.map((it) => [it.kind, it.before, it.after])).toEqual([
    ['hunk', undefined, undefined], ['same', 3, 3], ['del', 4, undefined], ['add', undefined, 4], ['add', undefined, 5], ['same', 5, 6], ['note', undefined, undefined],
    ['hunk', undefined, undefined], ['del', 20, undefined], ['add', undefined, 21],
  ]);
  expect([file.added, file.removed]).toEqual([3, 2]);
});

it("the agent's own change objects are read, with their tagged kinds", () => {
  expect(changesOf([{ path: '/a', kind: { type: 'update', move_path: '/b' }, diff: '@@' }, { path: '/c', kind: { type: 'add' }, diff: 'c\n' }, { path: '/d', kind: 'delete', diff: '' }])).toEqual([
    { path: '/a', kind: 'update', movePath: '/b', diff: '@@' }, { path: '/c', kind: 'add', diff: 'c\n' }, { path: '/d', kind: 'delete', diff: '' },
  ]);
  expect(changesOf(undefined)).toEqual([]);
});

it('a git diff is cut into files', () => {
  const diff = 'diff --git a/a.txt b/a.txt\nindex 1..2\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\ndiff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+c\n';
  const files = splitGitDiff(diff);
  expect(files.map((it) => [it.path, it.kind])).toEqual([['a.txt', 'update'], ['b.txt', 'deleted'], ['n', 'added']]);
  expect(files.map((it) => diffFile(it)).map((it) => [it.added, it.removed])).toEqual([[1, 1], [0, 1], [1, 0]]);
});
