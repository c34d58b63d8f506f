import { expect, fireEvent, fn, userEvent, waitFor, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { calledOnce } from '../stories/play';
import { Composer } from './Composer';

/** Where a person writes to the agent. While it works, what they write steers it or waits in the queue. */
const meta = {
  component: Composer,
  title: 'Session/Composer',
  args: { busy: false, closed: undefined, onSend: fn(async () => {}), onInterrupt: fn(async () => {}) },
} satisfies Meta<typeof Composer>;
export default meta;
type Story = StoryObj<typeof meta>;

const box = (canvas: HTMLElement) => within(canvas).getByRole('textbox', { name: 'Message to the agent' });

export const Idle: Story = {
  play: async ({ canvasElement, args }) => {
    await expect(within(canvasElement).getByRole('button', { name: 'Send' })).toBeDisabled();
    await userEvent.type(box(canvasElement), 'First line{Shift>}{Enter}{/Shift}second line');
    await expect(args.onSend).not.toHaveBeenCalled();
    await userEvent.keyboard('{Enter}');
    await calledOnce(args.onSend, 'First line\nsecond line', [], undefined);
    await waitFor(() => expect(box(canvasElement)).toHaveValue(''));
  },
};

export const Steering: Story = {
  args: { busy: true },
  play: async ({ canvasElement, args }) => {
    await userEvent.type(box(canvasElement), 'Only four attempts.{Enter}');
    await calledOnce(args.onSend, 'Only four attempts.', [], 'steer');
  },
};

export const Queueing: Story = {
  args: { busy: true },
  play: async ({ canvasElement, args }) => {
    await userEvent.type(box(canvasElement), 'Then write the notes.');
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Queue' }));
    await calledOnce(args.onSend, 'Then write the notes.', [], 'queue');
  },
};

export const Interrupting: Story = {
  args: { busy: true, onInterrupt: fn(() => new Promise<void>(() => {})) },
  play: async ({ canvasElement, args }) => {
    const button = within(canvasElement).getByRole('button', { name: 'Interrupt' });
    await userEvent.click(button);
    await expect(button).toBeDisabled();
    await calledOnce(args.onInterrupt);
  },
};

export const Sending: Story = {
  args: { onSend: fn(() => new Promise<void>(() => {})) },
  play: async ({ canvasElement, args }) => {
    await userEvent.type(box(canvasElement), 'Once is enough.{Enter}{Enter}');
    await expect(within(canvasElement).getByRole('button', { name: 'Send' })).toBeDisabled();
    await expect(args.onSend).toHaveBeenCalledTimes(1);
  },
};

/** What could not be sent is not lost. */
export const Failed: Story = {
  args: { onSend: fn(() => Promise.reject(new Error('Pilothouse could not be reached. Is `pilothouse serve` still running?'))) },
  play: async ({ canvasElement }) => {
    await userEvent.type(box(canvasElement), 'Keep this.{Enter}');
    await expect(await within(canvasElement).findByRole('alert')).toHaveTextContent('Pilothouse could not be reached.');
    await expect(box(canvasElement)).toHaveValue('Keep this.');
  },
};

export const Closed: Story = { args: { closed: 'This session is closed. Fork it to go on from here.' } };
export const Long: Story = { play: async ({ canvasElement }) => { await fireEvent.input(box(canvasElement), { target: { value: 'A line of a long message that somebody pasted.\n'.repeat(60) } }); } };

const PNG = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='), (it) => it.charCodeAt(0));
const picture = (name: string, type = 'image/png') => new File([PNG], name, { type });
const drop = (canvas: HTMLElement, files: File[]) => {
  const data = new DataTransfer();
  for (const it of files) data.items.add(it);
  return box(canvas).dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
};

/** Pictures come by paste or drop, and can be taken back before they are sent. */
export const Pictures: Story = {
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    drop(canvasElement, [picture('screen.png'), picture('notes.txt', 'text/plain'), picture('graph.png')]);
    await expect(await canvas.findByText('graph.png')).toBeVisible();
    await expect(canvas.queryByText('notes.txt')).toBeNull();
    await userEvent.click(canvas.getByRole('button', { name: 'Remove screen.png' }));
    await userEvent.type(box(canvasElement), 'What is wrong here?{Enter}');
    await calledOnce(args.onSend, 'What is wrong here?', [expect.stringMatching(/^data:image\/png;base64,iVBOR/)], undefined);
  },
};

export const TooManyPictures: Story = {
  play: async ({ canvasElement }) => {
    drop(canvasElement, Array.from({ length: 9 }, (_, i) => picture(`screen-${i}.png`)));
    await expect(await within(canvasElement).findByRole('alert')).toHaveTextContent('At most 8 pictures go with one message.');
    await expect(within(canvasElement).getAllByRole('listitem')).toHaveLength(8);
  },
};
