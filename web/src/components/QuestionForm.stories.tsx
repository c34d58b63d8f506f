import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { CHOICES, HOSTILE, QUESTIONS } from '../stories/data';
import { BIDI, ran } from '../stories/hostile';
import { calledOnce } from '../stories/play';
import type { Question } from '../lib/types';
import { QuestionForm } from './QuestionForm';

/** Questions of the agent: options to choose, an answer in one's own words, or a secret. */
const meta = {
  component: QuestionForm,
  title: 'Asks/QuestionForm',
  args: { questions: QUESTIONS, disabled: false, onSubmit: fn(), children: '' },
  argTypes: { children: { control: false } },
  render: (args) => <QuestionForm {...args}><button type="submit" class="btn btn-yes" disabled={args.disabled}>Send answer</button></QuestionForm>,
} satisfies Meta<typeof QuestionForm>;
export default meta;
type Story = StoryObj<typeof meta>;

const one = QUESTIONS.slice(0, 1);
const send = (canvas: HTMLElement) => userEvent.click(within(canvas).getByRole('button', { name: 'Send answer' }));

export const Several: Story = {
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByLabelText(/^A token/)).toHaveAttribute('type', 'password'); },
};

/** Going to the field for another answer chooses it. */
export const Other: Story = {
  args: { questions: one },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.click(canvas.getByLabelText(/^PostgreSQL/));
    await userEvent.type(canvas.getByLabelText(/^Other answer/), ' DuckDB ');
    await expect(canvas.getByLabelText('Other')).toBeChecked();
    await send(canvasElement);
    await calledOnce(args.onSubmit, { answers: { store: { answers: ['DuckDB'] } } });
  },
};

export const ByKeyboard: Story = {
  args: { questions: one },
  play: async ({ args }) => {
    await userEvent.tab();
    await userEvent.keyboard(' {ArrowDown}');
    await userEvent.keyboard('{Enter}');
    await calledOnce(args.onSubmit, { answers: { store: { answers: ['PostgreSQL'] } } });
  },
};

export const Unanswered: Story = {
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.click(canvas.getByLabelText(/^SQLite/));
    await send(canvasElement);
    await expect(args.onSubmit).not.toHaveBeenCalled();
    await expect(canvas.getAllByText('This needs an answer.')).toHaveLength(2);
    await expect(canvas.getByLabelText('What should the table be called?')).toHaveFocus();
  },
};

export const Secret: Story = {
  args: { questions: QUESTIONS.slice(2) },
  play: async ({ canvasElement, args }) => {
    await userEvent.type(within(canvasElement).getByLabelText(/^A token/), ' keeps its blanks ');
    await send(canvasElement);
    await calledOnce(args.onSubmit, { answers: { token: { answers: [' keeps its blanks '] } } });
  },
};

/** Options with names: the recommended one is chosen before, and other words are kept apart from names. */
export const Named: Story = {
  args: { questions: CHOICES.slice(0, 1) },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    const preset = canvas.getByRole('radio', { name: /^SQLite recommended/ });
    await expect(preset).toBeChecked();
    await userEvent.type(canvas.getByLabelText(/^Other answer/), 'DuckDB');
    await expect(preset).not.toBeChecked();
    await send(canvasElement);
    await calledOnce(args.onSubmit, { answers: {}, other: { store: 'DuckDB' } });
  },
};

/** Several may be chosen; they are sent in the order in which they stand. */
export const Multiple: Story = {
  args: { questions: CHOICES.slice(1) },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await send(canvasElement);
    await expect(canvas.getByText('This needs an answer.')).toBeVisible();
    await userEvent.click(canvas.getByRole('checkbox', { name: /^Fast tests/ }));
    await userEvent.click(canvas.getByRole('checkbox', { name: /^Formatting/ }));
    await userEvent.click(canvas.getByRole('checkbox', { name: 'Another one' }));
    await send(canvasElement);
    await expect(args.onSubmit).not.toHaveBeenCalled();
    await expect(canvas.getByText('Write what “Another one” means.')).toBeVisible();
    await expect(canvas.getByLabelText(/^Other answer/)).toHaveFocus();
    await userEvent.keyboard('Spelling');
    await send(canvasElement);
    await calledOnce(args.onSubmit, { answers: { checks: { answers: ['fmt', 'test'] } }, other: { checks: 'Spelling' } });
  },
};

export const Disabled: Story = { args: { disabled: true } };
export const Long: Story = { args: { questions: [{ id: 'q', header: 'A header', question: 'Which of these many? '.repeat(12), options: Array.from({ length: 24 }, (_, i) => ({ label: `Choice ${i} with a name that takes its time`, description: 'And a description that takes even more. '.repeat(4) })) }] } };
export const Empty: Story = { args: { questions: [] } };

/** An answer is the label exactly as the agent gave it, however it is shown. */
export const Hostile: Story = {
  args: { questions: (HOSTILE['question'] as { questions: Question[] }).questions },
  play: async ({ canvasElement, args }) => {
    await userEvent.click(within(canvasElement).getAllByRole('radio')[0] as HTMLElement);
    await send(canvasElement);
    await calledOnce(args.onSubmit, { answers: { q: { answers: [BIDI] } } });
    await expect(ran()).toBe(false);
  },
};
