import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ask, ASKED_BY_PROGRAM, command, item, log, OUTPUT, run, session, settledAsk, SUBJECTS, TURN } from '../stories/data';
import { ALL, ran } from '../stories/hostile';
import { calledOnce } from '../stories/play';
import { SessionPage } from './SessionPage';

const usage = { total: 184_200, input: 171_000, cached: 150_000, output: 13_200, context: 61_000, window: 272_000 };

/** One session: what it is, its course, and a place to write to it. */
const meta = {
  component: SessionPage,
  title: 'Pages/SessionPage',
  args: {
    session: session({ status: 'idle' }), log: log(TURN, { usage }), asks: {}, submissions: {}, canAnswer: true, trouble: undefined,
    onAnswer: fn(), onReadBlob: fn(async () => OUTPUT), onSend: fn(async () => {}), onInterrupt: fn(async () => {}), onFork: fn(async () => {}), onCancel: fn(async () => {}), onEarlier: fn(async () => {}),
  },
  render: (args) => <main class="h-full"><SessionPage {...args} /></main>,
  parameters: { frame: 'none' },
} satisfies Meta<typeof SessionPage>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Idle: Story = {
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await expect(canvas.getByRole('heading', { name: 'Retry uploads that time out' })).toBeInTheDocument();
    await userEvent.type(canvas.getByRole('textbox', { name: 'Message to the agent' }), 'Go on.{Enter}');
    await calledOnce(args.onSend, 'Go on.', [], undefined);
  },
};
export const Working: Story = { args: { session: session(), log: log([...TURN.slice(0, 5), item('agentMessage', { text: '' }, { state: 'open', live: { text: 'Now I test it' } })], { usage }) } };
const pending = ask(SUBJECTS.command);
export const Waiting: Story = { args: { session: session({ status: 'waiting_approval', pendingRequestCount: 1 }), log: log([...TURN.slice(0, 2), command({ status: 'inProgress' }, { state: 'open', asks: [pending.requestId] })]), asks: { [pending.requestId]: pending } } };
export const Loading: Story = { args: { session: undefined, log: undefined } };
export const Trouble: Story = { args: { session: undefined, log: undefined, trouble: 'There is no such session. It may be on another node.' } };
export const Empty: Story = { args: { log: log([]) } };
export const AgentFailed: Story = { args: { session: session({ status: 'error', agentError: { message: 'Pilothouse could not start Codex: exit status 1.\nRun `pilothouse doctor`.' } }), log: log([]) } };
export const Closed: Story = {
  args: { session: session({ status: 'cancelled' }) },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByRole('textbox', { name: 'Message to the agent' })).toBeNull(); },
};
const allowed = settledAsk({ how: 'answered', by: { type: 'human', via: 'console', verified: true }, answer: { decision: 'accept' } }, { ...ASKED_BY_PROGRAM, subject: SUBJECTS.argv });
const choice = ask(SUBJECTS.choice, { ...ASKED_BY_PROGRAM, requestId: 'req_2', offers: ASKED_BY_PROGRAM.offers?.slice(1) ?? [] });
/** A program asks people through it, and no agent works here: there is nobody to write to. */
export const WithoutAgent: Story = {
  args: {
    session: session({ title: 'Some Editor', status: 'waiting_approval', agentless: true, turns: 0, model: null, effort: null, threadId: null, sandbox: null, approvalPolicy: null, pendingRequestCount: 1 }), asks: { [allowed.requestId]: allowed, req_2: choice },
    log: log([{ key: 'ask:1', type: 'ask', requestId: allowed.requestId }, run(), { key: 'note:3', type: 'notice', at: '2031-01-01T00:00:00Z', tone: 'info', text: 'Not shown by Some Editor: it declined within a second', detail: 'The question waits here and in the inbox.' }, { key: 'ask:2', type: 'ask', requestId: 'req_2' }]),
  },
  play: async ({ canvasElement }) => {
    const canvas = within(canvasElement);
    await expect(canvas.queryByRole('textbox', { name: 'Message to the agent' })).toBeNull();
    await expect(canvas.getByTestId('agentless')).toHaveTextContent('No agent works here');
    await userEvent.click(canvas.getByText('Details'));
    await expect(canvas.queryByRole('button', { name: 'Fork' })).toBeNull();
  },
};
export const WithoutSandbox: Story = { args: { session: session({ status: 'idle', sandbox: 'danger-full-access', approvalPolicy: 'never' }) } };
export const NotFromTheBeginning: Story = {
  args: { log: log(TURN, { after: 600 }) },
  play: async ({ canvasElement, args }) => {
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Show what came before' }));
    await calledOnce(args.onEarlier);
  },
};
export const Hostile: Story = {
  args: { session: session({ title: ALL, cwd: ALL, model: ALL, node: ALL, status: 'idle' }), log: log([item('agentMessage', { text: ALL })]), trouble: ALL },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
