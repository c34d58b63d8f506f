import { expect, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ago, ask, HOSTILE, OUTPUT, run, SUBJECTS } from '../stories/data';
import { ALL, ran } from '../stories/hostile';
import { CommandRun } from './CommandRun';

/** A command that a person allowed a program to run, and what became of it. */
const meta = { component: CommandRun, title: 'Session/CommandRun', args: { row: run(), ask: ask(SUBJECTS.argv) } } satisfies Meta<typeof CommandRun>;
export default meta;
type Story = StoryObj<typeof meta>;

const result = (end: NonNullable<ReturnType<typeof run>['result']>['end'], stderr = '') => ({ end, stdout: '', stderr, truncated: false });
const says = (words: RegExp): Story['play'] => async ({ canvasElement }) => { await expect(within(canvasElement).getByText(words)).toBeVisible(); };

/** What it printed is folded. */
export const Done: Story = {
  play: async ({ canvasElement }) => {
    const canvas = within(canvasElement);
    await expect(canvas.getByText('exit 0')).toBeVisible();
    await expect(canvas.getByText(/running 2 tests/)).not.toBeVisible();
    await userEvent.click(canvas.getByText(/^Output, /));
    await expect(canvas.getByText(/running 2 tests/)).toBeVisible();
  },
};
export const Running: Story = {
  render: (args) => { const { endedAt: _, result: __, ...row } = args.row; return <CommandRun {...args} row={{ ...row, at: ago(75) }} />; },
  play: says(/^running$/),
};
export const Failed: Story = { args: { row: run({ result: result({ type: 'exited', code: 2 }, 'touch: cannot touch: No such file or directory\n') }) }, play: says(/cannot touch/) };
export const Signalled: Story = { args: { row: run({ result: result({ type: 'signalled', signal: 9 }) }) }, play: says(/signal 9/) };
export const TimedOut: Story = { args: { row: run({ result: result({ type: 'timedOut', afterMs: 30_000 }) }) }, play: says(/ended after 30s/) };
export const TakenBack: Story = { args: { row: run({ result: result({ type: 'takenBack' }) }) } };
export const NotStarted: Story = { args: { row: run({ result: result({ type: 'notStarted', problem: 'There is no program named toch.' }) }) }, play: says(/no program named toch/) };
export const Lost: Story = { args: { row: run({ result: result({ type: 'lost' }) }) }, play: says(/may have done anything or nothing/) };
export const Truncated: Story = { args: { row: run({ result: { end: { type: 'exited', code: 0 }, stdout: OUTPUT.repeat(20), stderr: '', truncated: true } }) }, play: says(/Only the beginning and the end/) };
/** The ask that allowed it is further back than what was read. */
export const OfUnknownAsk: Story = { args: { ask: undefined } };
export const Hostile: Story = {
  args: { ask: ask(HOSTILE['argv']), row: run({ result: { end: { type: 'exited', code: 1 }, stdout: ALL, stderr: ALL, truncated: false } }) },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
