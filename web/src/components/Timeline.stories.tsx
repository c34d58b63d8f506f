import { expect, fn, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ago, ask, ASKED_BY_PROGRAM, command, item, log, OUTPUT, PERSON, run, settledAsk, SUBJECTS, TURN } from '../stories/data';
import { ALL, ran } from '../stories/hostile';
import { calledOnce, press } from '../stories/play';
import type { Row, TurnEndRow } from '../lib/state';
import { Timeline } from './Timeline';

/** A session's course: prompts, items as they happen, the asks they raise, and how each turn ended. */
const meta = {
  component: Timeline,
  title: 'Session/Timeline',
  args: { log: log(TURN), asks: {}, submissions: {}, canAnswer: true, onAnswer: fn(), onReadBlob: fn(async () => OUTPUT) },
} satisfies Meta<typeof Timeline>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Turn: Story = {};
export const Empty: Story = { args: { log: log([]) } };

const pending = ask(SUBJECTS.command);
/** An ask stands at the item that raised it. */
export const Waiting: Story = {
  args: { log: log([...TURN.slice(0, 2), command({ status: 'inProgress', aggregatedOutput: null, exitCode: null }, { state: 'open', asks: [pending.requestId] })]), asks: { [pending.requestId]: pending } },
  play: async ({ canvasElement, args }) => {
    await press(canvasElement, /^Accept once/);
    await calledOnce(args.onAnswer, pending.requestId, { digest: pending.digest, decision: 'accept' });
  },
};
export const AnsweredElsewhere: Story = {
  args: {
    log: log([command({}, { asks: [pending.requestId] })]),
    asks: { [pending.requestId]: settledAsk({ how: 'answered', by: { type: 'human', via: 'cli', verified: true }, answer: { decision: 'accept' } }) },
  },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByTestId('settled')).toHaveTextContent(/^Accepted by a person in a terminal/); },
};
const form = ask(SUBJECTS.form, { requestId: 'req_2' });
export const AskWithoutItem: Story = { args: { log: log([{ key: 'ask:req_2', type: 'ask', requestId: 'req_2' }]), asks: { req_2: form } } };

const prompt = (how: 'start' | 'steer' | 'queued', text: string): Row => ({ key: `prompt:${how}`, type: 'prompt', at: ago(30), how, by: PERSON, text, images: [] });
export const Prompts: Story = { args: { log: log([prompt('start', 'Make them try again.'), prompt('steer', 'Four attempts are enough.'), prompt('queued', 'Then write the release notes.')]) } };
export const PromptOfProgram: Story = { args: { log: log([{ key: 'prompt:1', type: 'prompt', at: ago(30), how: 'start', by: { type: 'caller', id: 'nightly' }, text: 'Run the benchmarks.', images: ['/home/dev/graph.png'] }]) } };

const end = (over: Partial<TurnEndRow>) => log([{ key: 'end:2', type: 'turnEnd', turn: 2, status: 'completed', at: ago(5), requestedAt: ago(130), files: [], ...over }]);
export const Completed: Story = { args: { log: end({}) } };
export const Interrupted: Story = { args: { log: end({ status: 'interrupted' }) } };
export const Failed: Story = { args: { log: end({ status: 'failed', error: 'You’ve hit your usage limit. Try again at 19:40.' }) } };
export const Lost: Story = { args: { log: end({ status: 'lost', error: 'Pilothouse was restarted while the turn ran. Send a prompt to go on.' }) } };

const notice = (tone: 'info' | 'warn' | 'bad', text: string, detail?: string): Row => ({ key: `note:${tone}`, type: 'notice', at: ago(9), tone, text, ...(detail ? { detail } : {}) });
export const Notices: Story = { args: { log: log([notice('info', 'The model was changed to gpt-6.2-mini.', 'high load'), notice('warn', 'Reconnecting… 1/5'), notice('bad', 'The agent could not be started.', 'exit status 1')]) } };

/** A program asked to run a command, a person allowed it, and it ran. */
const allowed = settledAsk({ how: 'answered', by: PERSON, answer: { decision: 'accept' } }, { ...ASKED_BY_PROGRAM, subject: SUBJECTS.argv });
export const CommandOfProgram: Story = {
  args: { log: log([{ key: 'ask:1', type: 'ask', requestId: allowed.requestId }, run()]), asks: { [allowed.requestId]: allowed } },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText(/run by the calling program release-notes/)).toBeVisible(); },
};
export const AskedAlready: Story = {
  args: { log: log([{ key: 'note:4', type: 'notice', at: ago(9), tone: 'info', text: 'The agent passed on a question that is asked already by another session.', sessionId: 'sess_2' }]) },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('link', { name: 'Show that session' })).toHaveAttribute('href', '/sessions/sess_2'); },
};

/** Beyond some hundred rows, the browser skips those that are out of sight. */
export const Long: Story = { args: { log: log(Array.from({ length: 400 }, (_, i) => item('agentMessage', { text: `Step ${i} is done.` }, { item: `m${i}` }))) }, tags: ['!autodocs'] };

export const Hostile: Story = {
  args: {
    log: log([prompt('start', ALL), { key: 'plan:2', type: 'plan', explanation: ALL, steps: [{ step: ALL, status: 'inProgress' }] }, notice('bad', ALL, ALL), { key: 'end:1', type: 'turnEnd', turn: 1, status: 'failed', error: ALL, at: ago(1), files: [] }]),
  },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
    await expect(canvasElement.textContent).not.toContain('\u202e');
    await expect(ran()).toBe(false);
  },
};
