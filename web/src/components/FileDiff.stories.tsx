import { expect, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { DIFF } from '../stories/data';
import { FileDiff } from './Diff';

/** One file's change; its head folds it. */
const meta = {
  component: FileDiff,
  title: 'Session/FileDiff',
  args: { change: { path: 'src/upload.rs', kind: 'update', diff: DIFF }, closed: false },
} satisfies Meta<typeof FileDiff>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Open: Story = {
  play: async ({ canvasElement }) => {
    const lines = within(canvasElement).getByRole('region', { name: 'Changes to src/upload.rs' });
    await expect(lines).toBeVisible();
    await userEvent.click(within(canvasElement).getByText('src/upload.rs'));
    await expect(lines).not.toBeVisible();
  },
};
export const Closed: Story = { args: { closed: true } };
export const LongPathAndLine: Story = { args: { change: { path: `src/${'deep/'.repeat(40)}file.rs`, kind: 'update', diff: `@@ -1 +1 @@\n-short\n+${'long '.repeat(400)}\n` } } };
