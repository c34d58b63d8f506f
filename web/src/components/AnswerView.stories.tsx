import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { SUBJECTS } from '../stories/data';
import { ALL, ran, SCRIPT } from '../stories/hostile';
import { AnswerView } from './AnswerView';

/** What was answered to questions and forms, in the words that were shown. */
const meta = { component: AnswerView, title: 'Asks/AnswerView', args: { subject: SUBJECTS.choice, answer: { type: 'chosen', answers: { store: ['redis'], checks: ['fmt', 'test'] }, other: { checks: 'Spelling' } } } } satisfies Meta<typeof AnswerView>;
export default meta;
type Story = StoryObj<typeof meta>;

const says = (...words: string[]): Story['play'] => async ({ canvasElement }) => {
  await expect(within(canvasElement).getAllByRole('definition').map((it) => it.textContent)).toEqual(words);
};
export const Choice: Story = { play: says('Redis', 'Formatting, Fast tests, Another one: Spelling') };
export const Form: Story = {
  args: { subject: SUBJECTS.form, answer: { type: 'filled', content: { title: 'Uploads time out', priority: 3, draft: false, areas: ['api', 'docs'] } } },
  play: says('Uploads time out', '3', 'false', 'api, docs'),
};
/** A decision says all in its own line; a secret is not on record. */
export const Decision: Story = { args: { answer: { type: 'decided', decision: 'decline' } }, play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByRole('definition')).toBeNull(); } };
export const Redacted: Story = { args: { answer: { type: 'redacted' } } };
export const Hostile: Story = {
  args: { subject: SUBJECTS.form, answer: { type: 'filled', content: { [SCRIPT]: ALL } } },
  play: async () => { await expect(ran()).toBe(false); },
};
