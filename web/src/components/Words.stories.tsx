import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { BIDI, LONG_WORD } from '../stories/hostile';
import { Words } from './CommandReading';

/** The words of a command, each in a box: where one ends is no guess. */
const meta = { component: Words, title: 'Asks/Words', args: { words: ['git', 'commit', '-m', 'two words', ''] } } satisfies Meta<typeof Words>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Plain: Story = {
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getAllByRole('listitem').map((it) => it.textContent)).toEqual(['git', 'commit', '-m', 'two words', 'empty']);
  },
};
export const None: Story = { args: { words: [] } };
export const Long: Story = { args: { words: ['cat', LONG_WORD, ...Array.from({ length: 60 }, (_, i) => `file${i}.txt`)] } };
export const Hostile: Story = {
  args: { words: [BIDI, `ls${' '.repeat(4_000)}`, 'a\nb'] },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText('\\u{202E}')).toBeVisible(); },
};
