import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ALL, INVISIBLE, LONG_WORD, ran } from '../stories/hostile';
import { OpenPage } from './OpenPage';

/** A page that someone wants opened. It says where that leads, and what about the address is odd; only a click opens it. */
const meta = { component: OpenPage, title: 'Asks/OpenPage', args: { url: 'https://issues.example/oauth/authorize?client=pilothouse', past: false } } satisfies Meta<typeof OpenPage>;
export default meta;
type Story = StoryObj<typeof meta>;

/** In a window that knows nothing of this one. */
export const Plain: Story = {
  play: async ({ canvasElement }) => {
    const canvas = within(canvasElement);
    await expect(canvas.getByTestId('url-host')).toHaveTextContent(/^issues\.example$/);
    await expect(canvas.queryByTestId('odd-address')).toBeNull();
    const link = canvas.getByRole('link', { name: 'Open the page' });
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer');
    await expect(link).toHaveAttribute('target', '_blank');
    await expect(link).toHaveAttribute('href', 'https://issues.example/oauth/authorize?client=pilothouse');
  },
};
/** What was answered can't be opened any more. */
export const Past: Story = { args: { past: true }, play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByRole('link')).toBeNull(); } };
export const LooksLikeAnother: Story = {
  args: { url: 'http://pil\u043ethouse.example:8443/login' },
  play: async ({ canvasElement }) => {
    const odd = within(canvasElement).getByTestId('odd-address');
    await expect(odd).toHaveTextContent('letters of other alphabets');
    await expect(odd).toHaveTextContent('This page is not encrypted.');
    await expect(odd).toHaveTextContent('port 8443');
    await expect(within(canvasElement).getByTestId('url-host')).toHaveTextContent('xn--');
  },
};
export const NameBeforeTheHost: Story = {
  args: { url: 'https://bank.example@evil.example/login' },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByTestId('url-host')).toHaveTextContent(/^evil\.example$/);
    await expect(within(canvasElement).getByTestId('odd-address')).toHaveTextContent('before the @');
  },
};
export const ThisMachine: Story = { args: { url: 'http://0x7f.1:7457/' } };
export const NoWebAddress: Story = {
  args: { url: 'javascript:globalThis.pwned=1' },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).queryByRole('link')).toBeNull();
    await expect(within(canvasElement).getByText(/This is not a web address/)).toBeVisible();
    await expect(ran()).toBe(false);
  },
};
export const Long: Story = { args: { url: `https://issues.example/${LONG_WORD}` } };
export const Hostile: Story = {
  args: { url: `https://issues.example/${INVISIBLE}?${ALL}` },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.textContent).not.toMatch(/[\u202e\u200b\u001b]/);
    await expect(ran()).toBe(false);
  },
};
