import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { calledOnce } from '../stories/play';
import { NewSession } from './NewSession';

/** A form that starts a session: where, what, and how much the agent may do by itself. */
const meta = {
  component: NewSession,
  title: 'Pages/NewSession',
  args: { directories: ['/home/dev/project', '/home/dev/nightly'], models: ['gpt-6.2-sol', 'gpt-6.2-mini'], onCreate: fn(async () => {}) },
  globals: { width: 'full' },
} satisfies Meta<typeof NewSession>;
export default meta;
type Story = StoryObj<typeof meta>;

const start = (canvas: HTMLElement) => userEvent.click(within(canvas).getByRole('button', { name: 'Start session' }));
const prompt = (canvas: HTMLElement) => within(canvas).getByLabelText('What should the agent do?');

export const Filled: Story = {
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.type(prompt(canvasElement), 'Find the leak.');
    await userEvent.type(canvas.getByLabelText('Directory'), '/home/dev/project');
    await userEvent.click(canvas.getByRole('radio', { name: /on-request/ }));
    await userEvent.click(canvas.getByRole('radio', { name: /read-only/ }));
    await userEvent.type(canvas.getByLabelText('Model'), 'gpt-6.2-mini');
    await userEvent.selectOptions(canvas.getByLabelText('Effort'), 'high');
    await start(canvasElement);
    await calledOnce(args.onCreate, { prompt: 'Find the leak.', cwd: '/home/dev/project', approvalPolicy: 'on-request', sandbox: 'read-only', model: 'gpt-6.2-mini', effort: 'high' });
  },
};
/** What is not chosen is left to the agent; Ctrl Enter starts. */
export const Defaults: Story = {
  play: async ({ canvasElement, args }) => {
    await userEvent.type(prompt(canvasElement), 'Find the leak.{Control>}{Enter}{/Control}');
    await calledOnce(args.onCreate, { prompt: 'Find the leak.', approvalPolicy: 'untrusted', sandbox: 'workspace-write' });
  },
};
export const Empty: Story = {
  args: { directories: [], models: [] },
  play: async ({ canvasElement, args }) => {
    await start(canvasElement);
    await expect(within(canvasElement).getByRole('alert')).toHaveTextContent('Say what the agent should do.');
    await expect(prompt(canvasElement)).toHaveFocus();
    await expect(args.onCreate).not.toHaveBeenCalled();
  },
};
export const Dangerous: Story = {
  play: async ({ canvasElement }) => {
    const canvas = within(canvasElement);
    await userEvent.click(canvas.getByRole('radio', { name: /\bnever\b/ }));
    await userEvent.click(canvas.getByRole('radio', { name: /danger-full-access/ }));
    await expect(canvas.getByText(/the agent can change or delete anything you can/)).toBeVisible();
  },
};
export const Starting: Story = {
  args: { onCreate: fn(() => new Promise<void>(() => {})) },
  play: async ({ canvasElement }) => {
    await userEvent.type(prompt(canvasElement), 'Find the leak.');
    await start(canvasElement);
    await expect(within(canvasElement).getByRole('button', { name: 'Starting…' })).toBeDisabled();
  },
};
export const Failed: Story = {
  args: { onCreate: fn(() => Promise.reject(new Error('Pilothouse could not start Codex: it is not installed. Run `pilothouse doctor`.'))) },
  play: async ({ canvasElement }) => {
    await userEvent.type(prompt(canvasElement), 'Find the leak.');
    await start(canvasElement);
    await expect(await within(canvasElement).findByRole('alert')).toHaveTextContent('could not start Codex');
    await expect(prompt(canvasElement)).toHaveValue('Find the leak.');
  },
};
export const Long: Story = { args: { directories: Array.from({ length: 200 }, (_, i) => `/home/dev/${i}`), models: Array.from({ length: 60 }, (_, i) => `model-${i}`) } };
