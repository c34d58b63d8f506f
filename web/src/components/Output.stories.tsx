import { expect, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { OUTPUT } from '../stories/data';
import { ALL, ANSI, LONG_WORD, ran } from '../stories/hostile';
import { Output } from './Text';

/** What a command printed, with its colours: the last lines, the rest on demand. */
const meta = { component: Output, title: 'Text/Output', args: { text: OUTPUT, label: 'Output' } } satisfies Meta<typeof Output>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Coloured: Story = {};
export const Empty: Story = { args: { text: '' } };
const codes = (from: number) => Array.from({ length: 8 }, (_, i) => `\u001b[${from + i}m colour ${i} \u001b[0m`).join('');
/** Each colour can be read on its ground, in both themes. */
export const EveryColour: Story = { args: { text: [codes(30), codes(90), codes(40), codes(100), '\u001b[1mbold\u001b[0m \u001b[2mdim\u001b[0m \u001b[3mslanted\u001b[0m \u001b[4munderlined\u001b[0m \u001b[7minverse\u001b[0m \u001b[9mstruck\u001b[0m'].join('\n') } };
export const Long: Story = {
  args: { text: Array.from({ length: 60 }, (_, i) => `line ${i}.`).join('\n') },
  play: async ({ canvasElement }) => {
    const canvas = within(canvasElement);
    await expect(canvas.getByLabelText('Output')).not.toHaveTextContent('line 0.');
    await userEvent.click(canvas.getByRole('button', { name: 'Show 46 earlier lines' }));
    await expect(canvas.getByLabelText('Output')).toHaveTextContent('line 0.');
    await userEvent.click(canvas.getByRole('button', { name: 'Show only the last lines' }));
    await expect(canvas.getByLabelText('Output')).not.toHaveTextContent('line 0.');
  },
};
export const LongLine: Story = { args: { text: LONG_WORD } };
export const Hostile: Story = {
  args: { text: `${ANSI}\n${ALL}` },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('script, img, iframe, a')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
