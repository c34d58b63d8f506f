import { expect, fn, userEvent, waitFor, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ago, ask, ASKED_BY_PROGRAM, HOSTILE, longDiff, SEGMENTS, settledAsk, SUBJECTS } from '../stories/data';
import { ALL, ran } from '../stories/hostile';
import { calledOnce, press } from '../stories/play';
import { AskCard } from './AskCard';

/** What waits for a person: what exactly will happen, who wants it, and the answers that the agent takes, each with its reach. */
const meta = {
  component: AskCard,
  title: 'Asks/AskCard',
  args: { ask: ask(), sessionTitle: 'Retry uploads that time out', canAnswer: true, atItem: false, onAnswer: fn() },
} satisfies Meta<typeof AskCard>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Command: Story = {
  args: { ask: ask(SUBJECTS.command, { reason: 'I want to see which test fails before I change anything.', expiresAt: ago(-200) }) },
  play: async ({ canvasElement, args }) => {
    await press(canvasElement, /^Accept once/);
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', decision: 'accept' });
  },
};

export const AcceptedForAlways: Story = {
  play: async ({ canvasElement, args }) => {
    await expect(within(canvasElement).getByText('every command that begins with cargo test')).toBeVisible();
    await press(canvasElement, /^Accept always/);
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', decision: 'acceptWithExecpolicyAmendment', execpolicy_amendment: ['cargo', 'test'] });
  },
};

export const DeclinedWithReason: Story = {
  play: async ({ canvasElement, args }) => {
    await press(canvasElement, /^Decline and go on/);
    const reason = await within(canvasElement).findByRole('textbox', { name: /Why not/ });
    await waitFor(() => expect(reason).toHaveFocus());
    await userEvent.type(reason, 'Only test the uploader.');
    await press(canvasElement, 'Send decline');
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', decision: 'decline', reason: 'Only test the uploader.' });
  },
};

/** Escape takes the decline back; nothing is sent. */
export const DeclineTakenBack: Story = {
  play: async ({ canvasElement, args }) => {
    await press(canvasElement, /^Decline and go on/);
    await waitFor(() => expect(within(canvasElement).getByRole('textbox')).toHaveFocus());
    await userEvent.keyboard('{Escape}');
    await expect(await within(canvasElement).findByRole('button', { name: /^Accept once/ })).toBeVisible();
    await expect(args.onAnswer).not.toHaveBeenCalled();
  },
};

/** The second half of a double click decides nothing. */
export const DoubleClicked: Story = {
  play: async ({ canvasElement, args }) => {
    const button = await within(canvasElement).findByRole('button', { name: /^Accept once/ });
    await waitFor(() => expect(button).not.toHaveAttribute('aria-disabled'), { timeout: 3000 });
    await userEvent.dblClick(button);
    await expect(args.onAnswer).toHaveBeenCalledTimes(1);
  },
};

/** What reaches further than once waits until all that is asked was in sight: a long change must be unfolded and read to its end. */
export const AlwaysOnlyAfterReading: Story = {
  args: { ask: ask({ type: 'fileChange', changes: [{ path: 'src/rows.ts', kind: 'add', diff: longDiff(200) }] }, { offers: [{ decision: 'accept', reach: 'once' }, { decision: 'acceptForSession', reach: 'thread' }, { decision: 'decline', reach: 'once' }] }) },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    const always = canvas.getByRole('button', { name: 'Accept for this thread' });
    await waitFor(() => expect(canvas.getByRole('button', { name: /^Accept once/ })).not.toHaveAttribute('aria-disabled'), { timeout: 3000 });
    await expect(always).toHaveAttribute('aria-disabled', 'true');
    await expect(always).toHaveAccessibleDescription(/Read all of it first/);
    await userEvent.click(always);
    await expect(args.onAnswer).not.toHaveBeenCalled();
    await userEvent.click(canvas.getByRole('button', { name: /more lines not shown/ }));
    const diff = canvas.getByRole('region', { name: 'Changes to src/rows.ts' });
    diff.scrollTop = diff.scrollHeight;
    canvas.getByRole('button', { name: /^Accept once/ }).scrollIntoView();
    await waitFor(() => expect(always).not.toHaveAttribute('aria-disabled'), { timeout: 3000 });
    await userEvent.click(always);
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', decision: 'acceptForSession' });
  },
};

/** A line of several commands, each with what it does; the words of what a shell never sees; what only reads. */
export const CommandRead: Story = {
  args: { ask: ask(SUBJECTS.line, { verdict: 'ask', segments: SEGMENTS }) },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByLabelText('What it would run')).toBeVisible(); },
};
export const CommandOfProgram: Story = {
  args: { ask: ask(SUBJECTS.argv, { ...ASKED_BY_PROGRAM, reason: 'So that there is a place for the notes.', verdict: 'ask', segments: [{ argv: SUBJECTS.argv.argv, text: '', verdict: 'ask', class: 'writes', reason: 'touch writes files' }] }), sessionTitle: 'Some Editor' },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await expect(canvas.getByText(/asked by the calling program release-notes/)).toBeVisible();
    await expect(canvas.getByText('The program’s reason, in its own words')).toBeVisible();
    await expect(canvas.queryByText(/end the turn/)).toBeNull();
    await press(canvasElement, /^Dismiss/);
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', decision: 'cancel' });
  },
};
export const Adoption: Story = { args: { ask: ask(SUBJECTS.adoption, { turn: null }) } };
export const ToolForAlways: Story = { args: { ask: ask(SUBJECTS.tool, { offers: [{ decision: 'accept', reach: 'once' }, { decision: 'acceptForSession', reach: 'thread' }, { decision: 'acceptAlways', reach: 'always' }, { decision: 'decline', reach: 'once' }, { decision: 'cancel', reach: 'turn' }] }) }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('button', { name: 'Accept always, everywhere on this machine' })).toBeVisible(); } };

/** What a program asks to choose from: the recommended option is chosen before, and "Other" may have another name. */
export const Choice: Story = {
  args: { ask: ask(SUBJECTS.choice, { ...ASKED_BY_PROGRAM, offers: ASKED_BY_PROGRAM.offers?.slice(1) ?? [] }), sessionTitle: 'Some Editor' },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await expect(canvas.getByRole('radio', { name: /^SQLite/ })).toBeChecked();
    await userEvent.click(canvas.getByRole('checkbox', { name: /^Fast tests/ }));
    await userEvent.type(canvas.getByLabelText(/^Other answer to: Which checks/), 'Spelling');
    await press(canvasElement, 'Send answer');
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', answers: { store: { answers: ['sqlite'] }, checks: { answers: ['test'] } }, other: { checks: 'Spelling' } });
  },
};
/** A decline of a choice carries words, too, and what was chosen so far is still there for who comes back. */
export const ChoiceDeclined: Story = {
  args: { ...Choice.args },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.click(canvas.getByRole('radio', { name: /^Redis/ }));
    await press(canvasElement, /^Decline/);
    await waitFor(() => expect(canvas.getByRole('textbox', { name: /Why not/ })).toHaveFocus());
    await userEvent.keyboard('{Escape}');
    await expect(canvas.getByRole('radio', { name: /^Redis/ })).toBeChecked();
    await press(canvasElement, /^Decline/);
    await userEvent.type(await canvas.findByRole('textbox', { name: /Why not/ }), 'Ask me tomorrow.');
    await press(canvasElement, 'Send decline');
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', decision: 'decline', reason: 'Ask me tomorrow.' });
  },
};

export const Network: Story = { args: { ask: ask(SUBJECTS.network, { offers: [{ decision: 'accept', reach: 'once' }, { decision: 'applyNetworkPolicyAmendment', reach: 'always', networkPolicyAmendment: { action: 'allow', host: 'index.crates.example' } }, { decision: 'applyNetworkPolicyAmendment', reach: 'always', networkPolicyAmendment: { action: 'deny', host: 'index.crates.example' } }, { decision: 'cancel', reach: 'turn' }] }) } };
export const FileChange: Story = { args: { ask: ask(SUBJECTS.fileChange) } };
export const Permissions: Story = { args: { ask: ask(SUBJECTS.permissions) } };
export const Tool: Story = { args: { ask: ask(SUBJECTS.tool) } };
export const Url: Story = { args: { ask: ask(SUBJECTS.url) } };

export const Form: Story = {
  args: { ask: ask(SUBJECTS.form) },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.type(canvas.getByLabelText(/^Title/), 'Uploads time out');
    await userEvent.type(canvas.getByLabelText(/^Notify/), 'ada@example.org');
    await userEvent.click(canvas.getByLabelText('API'));
    await press(canvasElement, 'Send answer');
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', content: { title: 'Uploads time out', email: 'ada@example.org', priority: 3, draft: true, kind: 'bug', areas: ['api'] } });
  },
};
export const FormWithoutFields: Story = { args: { ask: ask(SUBJECTS.emptyForm) } };

export const Questions: Story = {
  args: { ask: ask(SUBJECTS.question) },
  play: async ({ canvasElement, args }) => {
    const canvas = within(canvasElement);
    await userEvent.click(canvas.getByLabelText(/^SQLite/));
    await userEvent.type(canvas.getByLabelText('What should the table be called?'), 'sessions');
    await userEvent.type(canvas.getByLabelText(/^A token/), 'hunter2');
    await press(canvasElement, 'Send answer');
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', answers: { store: { answers: ['SQLite'] }, name: { answers: ['sessions'] }, token: { answers: ['hunter2'] } } });
  },
};

export const OfSubAgent: Story = { args: { ask: ask(SUBJECTS.command, { agent: { threadId: '01a22d0e-ea2d-7292', path: '/home/dev/helper' } }) } };
export const ExpiresSoon: Story = { args: { ask: ask(SUBJECTS.command, { expiresAt: ago(-15) }) } };
export const Expiring: Story = { args: { ask: ask(SUBJECTS.command, { expiresAt: ago(2) }) } };

/** The words of an unknown decision are shown as they are, and it can be taken. */
export const UnknownOffer: Story = { args: { ask: ask(SUBJECTS.command, { offers: [{ decision: 'acceptUntilTuesday' }, { decision: 'decline' }] }) } };

export const Long: Story = { args: { sessionTitle: 'A session with a name that goes on and on, because nobody gave it one and its first prompt was long', ask: ask({ type: 'command', command: `/bin/bash -lc '${Array.from({ length: 60 }, (_, i) => `echo step ${i} && ./run --with-a-long-option=${i}`).join(' && ')}'`, cwd: `/home/dev/${'deep/'.repeat(30)}` }, { reason: 'Because. '.repeat(80) }) } };

export const Padded: Story = {
  args: { ask: ask(HOSTILE['padded']) },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByTestId('hidden-warning')).toHaveTextContent('padding'); },
};

export const Hostile: Story = {
  args: { ask: ask(HOSTILE['command'], { reason: ALL }), sessionTitle: 'Clean the build' },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getAllByTestId('hidden-warning').length).toBeGreaterThan(1);
    await expect(canvasElement.textContent).toContain('\\u{202E}');
    await expect(ran()).toBe(false);
  },
};

export const ReadOnly: Story = {
  args: { canAnswer: false },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByRole('button')).toBeNull(); },
};

export const Submitting: Story = {
  args: { submission: { phase: 'sending' } },
  play: async ({ canvasElement }) => {
    for (const button of within(canvasElement).getAllByRole('button')) await expect(button).toBeDisabled();
    await expect(within(canvasElement).getByRole('status')).toHaveTextContent('Sending…');
  },
};

/** What was not sent can be sent again, exactly as it was. */
export const Failed: Story = {
  args: { submission: { phase: 'failed', message: 'Pilothouse could not be reached. Is `pilothouse serve` still running?', answer: { digest: 'sha256:41d0', decision: 'decline', reason: 'Not now.' } } },
  play: async ({ canvasElement, args }) => {
    await expect(within(canvasElement).getByRole('alert')).toHaveTextContent('Your answer was not sent.');
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Try again' }));
    await calledOnce(args.onAnswer, { digest: 'sha256:41d0', decision: 'decline', reason: 'Not now.' });
  },
};

/** What is asked changed since: the old answer can't be sent again. */
export const FailedForOldText: Story = {
  args: { submission: { phase: 'failed', message: 'What is asked has changed since it was shown.', answer: { digest: 'sha256:0000', decision: 'accept' } } },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByRole('button', { name: 'Try again' })).toBeNull(); },
};

const says = (words: RegExp): Story['play'] => async ({ canvasElement }) => {
  const canvas = within(canvasElement);
  await expect(canvas.getByTestId('settled')).toHaveTextContent(words);
  // It can be opened to see what it was about, and decides nothing any more.
  await userEvent.click(canvas.getByTestId('settled'));
  await expect(canvas.getByLabelText('Command')).toBeVisible();
  await expect(canvas.queryByRole('button')).toBeNull();
};

export const AnsweredHere: Story = { args: { ask: settledAsk({ how: 'answered', by: { type: 'human', via: 'console', verified: true }, answer: { decision: 'accept' } }), submission: { phase: 'mine' } }, play: says(/^Accepted by you/) };
export const AnsweredElsewhere: Story = { args: { ask: settledAsk({ how: 'answered', by: { type: 'human', via: 'cli', verified: true }, answer: { decision: 'decline' }, reason: 'Only test the uploader.' }) }, play: says(/^Declined by a person in a terminal/) };
export const AnsweredByRule: Story = { args: { ask: settledAsk({ how: 'answered', by: { type: 'policy', rule: 'read-only commands' }, answer: { decision: 'acceptForSession' } }) }, play: says(/^Accepted for this thread by the rule read-only commands/) };
export const Expired: Story = { args: { ask: settledAsk({ how: 'expired' }) }, play: says(/^Nobody answered in time/) };
export const ExpiredByRule: Story = { args: { ask: settledAsk({ how: 'expired', waitedS: 60, answer: { type: 'decided', decision: 'decline' } }) }, play: says(/^Nobody answered in time, so a rule declined/) };
export const WithdrawnByProgram: Story = { args: { ask: settledAsk({ how: 'withdrawn' }, ASKED_BY_PROGRAM) }, play: says(/^The program stopped waiting for an answer/) };
export const ChoiceAnswered: Story = {
  args: { ask: ask(SUBJECTS.choice, { ...ASKED_BY_PROGRAM, state: 'settled', settlement: { how: 'answered', at: ago(5), by: { type: 'human', via: 'cli', verified: true }, answer: { type: 'chosen', answers: { store: ['redis'], checks: ['fmt'] } } } }) },
  play: async ({ canvasElement }) => {
    const canvas = within(canvasElement);
    await userEvent.click(canvas.getByTestId('settled'));
    await expect(canvas.getByLabelText('Answer')).toHaveTextContent('Redis');
  },
};
export const Withdrawn: Story = { args: { ask: settledAsk({ how: 'withdrawn' }) }, play: says(/^The agent stopped waiting for an answer/) };
export const Lost: Story = { args: { ask: settledAsk({ how: 'lost' }) }, play: says(/^Lost: the agent that asked is gone/) };
export const SettledAtItsItem: Story = { args: { ask: settledAsk({ how: 'answered', by: { type: 'caller', id: 'nightly' }, answer: { decision: 'cancel' } }), atItem: true }, play: says(/^Declined and stopped by the calling program nightly/) };
