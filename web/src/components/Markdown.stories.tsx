import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { MARKDOWN } from '../stories/data';
import { ALL, LINK, ran, SCRIPT } from '../stories/hostile';
import { Markdown } from './Text';

/** What an agent says: markdown without raw HTML, pictures or anything else that calls out. */
const meta = { component: Markdown, title: 'Text/Markdown', args: { text: MARKDOWN, live: false } } satisfies Meta<typeof Markdown>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Everything: Story = {
  args: { text: `# Heading\n\n## Smaller\n\n${MARKDOWN}\n\n> quoted\n\n- a\n  - b\n\n---\n\n~~gone~~ *slanted*` },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('link', { name: 'the guide' })).toHaveAttribute('rel', 'noopener noreferrer nofollow'); },
};
export const Empty: Story = { args: { text: '' } };
export const Streaming: Story = { args: { text: 'Half a **sent', live: true } };
/** Beyond some length, what still streams is shown plain. */
export const StreamingLong: Story = { args: { text: 'More and **more** of it. '.repeat(1_500), live: true }, tags: ['!autodocs'] };
export const Hostile: Story = {
  args: { text: `${ALL}\n\n${LINK}\n\n${SCRIPT}\n\n[x](data:text/html,<script>globalThis.pwned=1</script>)\n\n<svg onload="globalThis.pwned=1">` },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('script, img, iframe, svg, [onload], [onerror], a[href^="javascript"], a[href^="data"]')).toBeNull();
    await expect(within(canvasElement).getAllByText(/\[image: https:\/\/evil\.example\/track\.png\]/)).toHaveLength(2);
    await expect(ran()).toBe(false);
  },
};
