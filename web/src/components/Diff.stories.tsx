import { expect, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { DIFF, HOSTILE, longDiff } from '../stories/data';
import { ran } from '../stories/hostile';
import type { FileChange } from '../lib/types';
import { Changes } from './Diff';

/** Changes of files, line by line, folded when they are long. What is folded is counted in words. */
const meta = {
  component: Changes,
  title: 'Session/Changes',
  args: { changes: [{ path: 'src/upload.rs', kind: 'update', diff: DIFF }], closed: false },
} satisfies Meta<typeof Changes>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Updated: Story = {};
export const Added: Story = { args: { changes: [{ path: 'src/retry.rs', kind: 'add', diff: 'pub const MAX_ATTEMPTS: u32 = 4;\n' }] } };
export const AddedEmpty: Story = { args: { changes: [{ path: 'src/empty.rs', kind: 'add', diff: '' }] } };
export const Deleted: Story = { args: { changes: [{ path: 'src/old.rs', kind: 'delete', diff: 'fn old() {}\n' }] } };
export const Moved: Story = { args: { changes: [{ path: 'src/a.rs', kind: 'update', movePath: 'src/b.rs', diff: DIFF }] } };
export const Several: Story = { args: { changes: ['upload', 'retry', 'client'].map((it) => ({ path: `src/${it}.rs`, kind: 'update', diff: DIFF })) } };
export const Closed: Story = { args: { closed: true } };
export const Empty: Story = { args: { changes: [] } };

export const Long: Story = {
  args: { changes: [{ path: 'src/table.ts', kind: 'add', diff: longDiff(1_000).split('\n').slice(1).map((it) => it.slice(1)).join('\n') }] },
  play: async ({ canvasElement }) => {
    const more = within(canvasElement).getByRole('button', { name: /more lines not shown/ });
    await userEvent.click(more);
    await expect(within(canvasElement).queryByRole('button')).toBeNull();
    await expect(within(canvasElement).getByText('export const row999 = 999;')).toBeInTheDocument();
  },
};

export const Hostile: Story = {
  args: { changes: (HOSTILE['fileChange'] as { changes: FileChange[] }).changes },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByTestId('hidden-warning')).toBeVisible();
    await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
