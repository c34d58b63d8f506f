import { expect, it } from 'vitest';
import { age, compact, count, countdown, duration, nodeName, tail } from './format';

it('ages are one short word', () => {
  expect([3, 45, 240, 7200, 172_800].map((s) => age(0, s * 1000))).toEqual(['now', '45s', '4m', '2h', '2d']);
  expect(age(5000, 0)).toBe('now');
});

it('durations have at most two units', () => {
  expect([4, 1500, 42_000, 185_000, 7_800_000, 180_000_000].map(duration)).toEqual(['4ms', '1.5s', '42s', '3m 05s', '2h 10m', '2d 2h']);
});

it('a countdown knows when it is nearly over', () => {
  const at = (left: number) => countdown(new Date(left * 1000).toISOString(), 0);
  expect(at(65)).toEqual({ text: '1:05', over: false, soon: false });
  expect(at(20)).toEqual({ text: '20s', over: false, soon: true });
  expect(at(-1)).toEqual({ text: '0s', over: true, soon: true });
  expect(countdown(null, 0)).toBeUndefined();
});

it('a name that a machine made is short', () => {
  expect([nodeName('workstation'), nodeName('01a22da03ea075aa8f3b9d9636e9fe8c')]).toEqual(['workstation', 'node 36e9fe8c']);
});

it('counts, sizes and paths', () => {
  expect([count(1, 'file'), count(1200, 'file'), compact(999), compact(1497), compact(258_400), compact(2_500_000)]).toEqual(['1 file', '1,200 files', '999', '1.5k', '258k', '2.5M']);
  expect(tail('/a/very/long/path/to/some/project/here', 20)).toBe('…o/some/project/here');
  expect(tail('/short')).toBe('/short');
});
