import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { HOSTILE, SCHEMA } from '../stories/data';
import { ran, SCRIPT } from '../stories/hostile';
import { calledOnce } from '../stories/play';
import type { JsonObject } from '../lib/types';
import { McpForm } from './McpForm';

/** A form that an MCP server asked for, made from its flat schema and checked as it is typed. */
const meta = {
  component: McpForm,
  title: 'Asks/McpForm',
  args: { schema: SCHEMA, disabled: false, onSubmit: fn(), children: '' },
  argTypes: { children: { control: false } },
  render: (args) => <McpForm {...args}><button type="submit" class="btn btn-yes" disabled={args.disabled}>Send answer</button></McpForm>,
} satisfies Meta<typeof McpForm>;
export default meta;
type Story = StoryObj<typeof meta>;

const send = (canvas: HTMLElement) => userEvent.click(within(canvas).getByRole('button', { name: 'Send answer' }));

/** What was preset and what was typed is sent with its types; what was left empty is left out. */
export const Filled: Story = {
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.type(canvas.getByLabelText(/^Title/), 'Uploads time out');
    await userEvent.type(canvas.getByLabelText(/^Notify/), 'ada@example.org');
    await userEvent.type(canvas.getByLabelText(/^Due/), '2031-05-24');
    await userEvent.type(canvas.getByLabelText(/^Estimate/), '2.5');
    await userEvent.selectOptions(canvas.getByLabelText(/^Kind/), 'feature');
    await userEvent.click(canvas.getByLabelText('API'));
    await userEvent.click(canvas.getByLabelText('Documentation'));
    await userEvent.click(canvas.getByLabelText('As a draft'));
    await send(canvasElement);
    await calledOnce(args.onSubmit, { title: 'Uploads time out', email: 'ada@example.org', due: '2031-05-24', estimate: 2.5, priority: 3, draft: false, kind: 'feature', areas: ['api', 'docs'] });
  },
};

/** Nothing is sent while something is wrong; the first wrong field gets the focus. */
export const Refused: Story = {
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.type(canvas.getByLabelText(/^Notify/), 'nobody');
    const priority = canvas.getByLabelText(/^Priority/);
    await userEvent.clear(priority);
    await userEvent.type(priority, '9');
    await send(canvasElement);
    await expect(args.onSubmit).not.toHaveBeenCalled();
    await expect(canvas.getByLabelText(/^Title/)).toHaveFocus();
    await expect(canvas.getByLabelText(/^Title/)).toHaveAccessibleDescription(/Required\./);
    await expect(canvas.getByLabelText(/^Notify/)).toHaveAccessibleDescription('This must be an e-mail address.');
    await expect(priority).toHaveAccessibleDescription('A whole number, 1 to 5. At most 5.');
    await expect(canvas.getByText('Choose at least 1.')).toBeVisible();
    await expect(canvas.getByLabelText(/^Due/)).not.toHaveAttribute('aria-invalid');
  },
};

/** Enter in a field sends, as in any form. */
export const ByKeyboard: Story = {
  args: { schema: { type: 'object', required: ['name'], properties: { name: { type: 'string', title: 'Name' }, agree: { type: 'boolean', title: 'I agree' } } } },
  play: async ({ args }) => {
    await userEvent.tab();
    await userEvent.keyboard('Ada');
    await userEvent.tab();
    await userEvent.keyboard(' ');
    await userEvent.tab({ shift: true });
    await userEvent.keyboard('{Enter}');
    await calledOnce(args.onSubmit, { name: 'Ada', agree: true });
  },
};

/** A yes or no that nobody gave is neither: it must be said if it is required, and stays open if not. */
export const YesOrNo: Story = {
  args: { schema: { type: 'object', required: ['confirm'], properties: { confirm: { type: 'boolean', title: 'Run it now' }, again: { type: 'boolean', title: 'And tomorrow again' }, quiet: { type: 'boolean', title: 'Without a sound', default: true } } } },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    const confirm = within(canvas.getByRole('group', { name: /^Run it now/ }));
    for (const radio of canvas.getAllByRole('radio')) await expect(radio).not.toBeChecked();
    await send(canvasElement);
    await expect(args.onSubmit).not.toHaveBeenCalled();
    await expect(canvas.getByText('Choose yes or no.')).toBeVisible();
    await userEvent.click(confirm.getByRole('radio', { name: 'No' }));
    await send(canvasElement);
    await calledOnce(args.onSubmit, { confirm: false, quiet: true });
  },
};

export const EveryFormat: Story = {
  args: {
    schema: {
      type: 'object',
      properties: {
        mail: { type: 'string', format: 'email', title: 'E-mail' }, uri: { type: 'string', format: 'uri', title: 'Address' }, date: { type: 'string', format: 'date', title: 'Day' }, at: { type: 'string', format: 'date-time', title: 'Moment' },
        code: { type: 'string', pattern: '^[A-Z]{3}$', title: 'Code' }, bare: { type: 'string', enum: ['red', 'blue'], title: 'Colour' }, named: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'], title: 'Size' },
      },
    },
  },
};
export const Empty: Story = { args: { schema: { type: 'object', properties: {} } } };
export const Disabled: Story = { args: { disabled: true } };

/** A kind of field that can't be filled in is named; if it is required, nothing can be sent. */
export const UnknownField: Story = {
  args: { schema: { type: 'object', required: ['tree'], properties: { tree: { type: 'object', title: 'Tree' } } } },
  play: async ({ canvasElement, args }) => {
    await send(canvasElement);
    await expect(args.onSubmit).not.toHaveBeenCalled();
    await expect(within(canvasElement).getByText('This field is required but of a kind that can’t be filled in here.')).toBeVisible();
  },
};

export const Long: Story = {
  args: { schema: { type: 'object', properties: Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`field${i}`, { type: 'string', title: `A question with many words, number ${i}, that does not fit on a line of a phone`, description: 'What it is for, in a sentence that is longer than it needs to be. '.repeat(3) }])) } },
};

export const Hostile: Story = {
  args: { schema: (HOSTILE['form'] as { schema: JsonObject }).schema },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    const [text] = canvas.getAllByRole('textbox');
    await userEvent.type(text as HTMLElement, 'Ada');
    await userEvent.selectOptions(canvas.getByRole('combobox'), SCRIPT);
    await send(canvasElement);
    await calledOnce(args.onSubmit, { [SCRIPT]: 'Ada', choice: SCRIPT });
    await expect(ran()).toBe(false);
  },
};
