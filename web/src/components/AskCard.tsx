/** An ask as a card: what will happen, who wants it, and exactly the answers that the agent takes. */

import { createEffect, createMemo, createSignal, createUniqueId, For, type JSX, Match, on, Show, Switch, useContext } from 'solid-js';
import { actorWords, decided, heading, isOfAgent, offerWords, settledWords, summaryOf } from '../lib/asks';
import { age, clock, countdown } from '../lib/format';
import { now } from '../lib/now';
import { follow } from '../lib/router';
import { createSeen, SeenContext } from '../lib/seen';
import { moved, quiet, settled } from '../lib/shifts';
import type { Submission } from '../lib/live';
import type { Answer, AskView, JsonObject, Offer, Subject } from '../lib/types';
import { AnswerView } from './AnswerView';
import { AskBody } from './AskBody';
import { Icon, Spinner, type IconName } from './Icon';
import { McpForm } from './McpForm';
import { QuestionForm } from './QuestionForm';
import { HiddenWarning, Visible } from './Text';

export interface AskCardProps {
  ask: AskView;
  /** The session's name, when the card does not stand in its session. */
  sessionTitle?: string | undefined;
  submission?: Submission | undefined;
  /** It stands at the item that raised it, which tells already what it is about. */
  atItem?: boolean;
  /** Whether who is logged in here may answer. */
  canAnswer: boolean;
  onAnswer: (answer: Answer) => void;
}

const ICONS: Record<string, IconName> = { command: 'terminal', fileChange: 'file', permissions: 'key', question: 'question', form: 'form', url: 'globe', tool: 'tool', adoption: 'swap' };

export function AskCard(props: AskCardProps) {
  createEffect(on(() => props.ask.state, () => moved()));
  return (
    <Show when={props.ask.state === 'pending'} fallback={<SettledAsk {...props} />}>
      <PendingAsk {...props} />
    </Show>
  );
}

const ago = (at: string) => { const it = age(at, now()); return it === 'now' ? 'just now' : `${it} ago`; };

function PendingAsk(props: AskCardProps) {
  return <SeenContext.Provider value={createSeen()}><PendingCard {...props} /></SeenContext.Provider>;
}

function PendingCard(props: AskCardProps) {
  const id = createUniqueId();
  const deadline = () => countdown(props.ask.expiresAt, now());
  const hasForm = () => (props.ask.subject.type === 'form' && fieldsOf(props.ask.subject) > 0) || props.ask.subject.type === 'question';
  return (
    <article
      class="overflow-hidden rounded-lg border border-warn-line bg-surface shadow-[0_1px_2px_rgb(0_0_0/0.05)] focus-visible:outline-2 focus-visible:outline-accent"
      data-ask={props.ask.requestId} data-state={props.submission?.phase === 'sending' ? 'submitting' : 'pending'} tabindex="-1" aria-labelledby={id} aria-busy={props.submission?.phase === 'sending'}
    >
      <header class="flex flex-wrap items-center gap-x-2 gap-y-0.5 border-b border-warn-line bg-warn-soft px-3 py-1.5">
        <Icon name={ICONS[props.ask.subject.type] ?? 'question'} class="text-warn" />
        <h2 id={id} class="text-[0.84375rem] font-semibold">{heading(props.ask.subject)}</h2>
        <span class="ml-auto flex items-center gap-2 text-xs text-muted tabular-nums">
          <Show when={deadline()}>{(it) => (
            <span class="flex items-center gap-1" classList={{ 'font-semibold text-bad': it().soon }} title={`Expires at ${clock(props.ask.expiresAt ?? undefined)}`}>
              <Icon name="clock" class="h-3.5 w-3.5" />{it().over ? 'expiring' : `${it().text} left`}
            </span>
          )}</Show>
          <time datetime={props.ask.raisedAt} title={`Asked at ${clock(props.ask.raisedAt)}`}>{ago(props.ask.raisedAt)}</time>
        </span>
      </header>
      <div class="space-y-2.5 px-3 py-2.5">
        <Asker ask={props.ask} sessionTitle={props.sessionTitle} />
        <Body ask={props.ask} />
        <Show when={props.ask.reason}>{(reason) => (
          <div class="border-l-2 border-edge pl-2.5">
            <p class="text-2xs font-semibold text-muted">The {props.ask.askedBy ? 'program' : 'agent'}’s reason, in its own words</p>
            <p class="whitespace-pre-wrap"><Visible text={reason()} prose /></p>
            <HiddenWarning texts={[reason()]} />
          </div>
        )}</Show>
        <Show when={props.canAnswer} fallback={<p class="rounded-md bg-sunken px-2.5 py-1.5 text-muted">You can see this here but not answer it. A person can, after <code class="code">pilothouse login</code>.</p>}>
          <Show when={hasForm()} fallback={<Decide {...props} />}>
            <FillIn {...props} />
          </Show>
        </Show>
        <Show when={props.submission?.phase === 'failed' && props.submission}>{(failed) => (
          <div role="alert" class="flex flex-wrap items-center gap-2 rounded-md border border-bad-line bg-bad-soft px-2.5 py-1.5 text-bad">
            <Icon name="warn" /><span class="min-w-0 flex-1">Your answer was not sent. {failed().message}</span>
            <Show when={failed().answer.digest === props.ask.digest}><button type="button" class="btn btn-small" onClick={() => props.onAnswer(failed().answer)}>Try again</button></Show>
          </div>
        )}</Show>
      </div>
    </article>
  );
}

function Body(props: { ask: AskView; past?: boolean }) {
  return <AskBody subject={props.ask.subject} verdict={props.ask.verdict} segments={props.ask.segments} ofProgram={!isOfAgent(props.ask)} past={props.past ?? false} />;
}

/** Who asks: the agent of a session, one of its helpers, or a program that uses the session to ask people. */
function Asker(props: { ask: AskView; sessionTitle?: string | undefined }) {
  const shown = () => props.sessionTitle !== undefined || props.ask.agent || props.ask.askedBy;
  return (
    <Show when={shown()}>
      <p class="flex flex-wrap items-center gap-x-1.5 gap-y-0.5 text-xs text-muted">
        <Show when={props.sessionTitle}>{(title) => (
          <a class="max-w-full truncate font-medium text-ink underline decoration-edge underline-offset-2 hover:decoration-current" href={`/sessions/${props.ask.sessionId}`} onClick={follow}>{title()}</a>
        )}</Show>
        <Show when={props.ask.agent}>{(agent) => <span class="chip"><Icon name="agent" class="h-3 w-3" />sub-agent <Visible text={agent().path ?? agent().threadId} /></span>}</Show>
        <Show when={props.ask.askedBy}>{(by) => <span class="chip"><Icon name="tool" class="h-3 w-3" />asked by {actorWords(by())}</span>}</Show>
        <Show when={props.ask.turn}>{(turn) => <span>turn {turn()}</span>}</Show>
      </p>
    </Show>
  );
}

function fieldsOf(subject: Subject): number {
  if (subject.type !== 'form') return 0;
  const properties = subject.schema['properties'];
  return typeof properties === 'object' && properties !== null ? Object.keys(properties).length : 0;
}

/** A decline in two steps, so that it can carry words; anything else is shown until then. */
function WithDecline(props: AskCardProps & { children: (decline: (offer: Offer) => void) => JSX.Element }) {
  const [declining, setDeclining] = createSignal<Offer | undefined>();
  const [reason, setReason] = createSignal('');
  const sending = () => props.submission?.phase === 'sending';
  const decline = () => {
    const offer = declining();
    if (offer) props.onAnswer(decided(props.ask, offer, reason()));
  };
  const begin = (offer: Offer) => {
    moved();
    setDeclining(offer);
  };
  return (
    <>
      {/* What was filled in so far is still there for who comes back. */}
      <div classList={{ hidden: declining() !== undefined }}>{props.children(begin)}</div>
      <Show when={declining()}>
        <form class="space-y-2" onSubmit={(event) => { event.preventDefault(); if (settled()) decline(); }} onKeyDown={(event) => { if (event.key === 'Escape') { event.stopPropagation(); setDeclining(undefined); } }}>
          <label class="block"><span class="font-medium">Why not?</span> <span class="text-muted">The {props.ask.askedBy ? 'program' : 'agent'} reads this. Optional.</span>
            <input class="input mt-1" maxlength="2000" autocomplete="off" value={reason()} disabled={sending()} ref={(it) => queueMicrotask(() => it.focus())} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
          <div class="flex flex-wrap gap-2">
            <button type="submit" class="btn btn-no" disabled={sending()} aria-disabled={quiet() ? 'true' : undefined}><Show when={sending()} fallback="Send decline"><Spinner />Sending…</Show></button>
            <button type="button" class="btn btn-quiet" disabled={sending()} onClick={() => setDeclining(undefined)}>Back</button>
          </div>
        </form>
      </Show>
    </>
  );
}

/** An approval: one click, or two for a decline with words. What reaches further than once waits until all of it was in sight. */
function Decide(props: AskCardProps) {
  const id = createUniqueId();
  const seen = useContext(SeenContext);
  const sending = () => props.submission?.phase === 'sending';
  const narrow = createMemo(() => props.ask.offers.filter((it) => offerWords(it, props.ask).tone !== 'wide'));
  const wide = createMemo(() => props.ask.offers.filter((it) => offerWords(it, props.ask).tone === 'wide'));
  const unseen = () => seen?.all() === false;
  const press = (offer: Offer, event: MouseEvent, decline: (offer: Offer) => void) => {
    if (!settled(event)) return;
    if (offer.decision === 'decline') decline(offer);
    else props.onAnswer(decided(props.ask, offer));
  };
  return (
    <WithDecline {...props}>{(decline) => (
      <div class="space-y-2">
        <div class="flex flex-col gap-2 sm:flex-row sm:flex-wrap">
          <For each={narrow()}>{(offer) => <OfferButton offer={offer} ask={props.ask} sending={sending()} onPress={(event) => press(offer, event, decline)} />}</For>
          <Show when={sending()}><span class="flex items-center gap-1.5 text-muted" role="status"><Spinner />Sending…</span></Show>
        </div>
        <Show when={wide().length > 0}>
          <div class="flex flex-col gap-1.5 border-t border-line pt-2" role="group" aria-label="Accept for longer">
            <Show when={unseen()}><p id={`${id}-unseen`} class="flex items-center gap-1.5 text-xs text-warn"><Icon name="warn" />Read all of it first, to its end: these answers reach further than this once.</p></Show>
            <For each={wide()}>{(offer) => (
              <div class="flex flex-col gap-x-2 gap-y-0.5 sm:flex-row sm:items-center">
                <OfferButton offer={offer} ask={props.ask} sending={sending()} small blocked={unseen() ? `${id}-unseen` : undefined} onPress={(event) => { if (!unseen()) press(offer, event, decline); }} />
                <Show when={offerWords(offer).amendment}>{(words) => <span class="code text-muted"><Visible text={words()} /></span>}</Show>
              </div>
            )}</For>
          </div>
        </Show>
      </div>
    )}</WithDecline>
  );
}

function OfferButton(props: { offer: Offer; ask: AskView; sending: boolean; small?: boolean; blocked?: string | undefined; onPress: (event: MouseEvent) => void }) {
  const words = () => offerWords(props.offer, props.ask);
  const key = () => (props.offer.decision === 'accept' ? 'a' : props.offer.decision === 'decline' ? 'd' : undefined);
  return (
    <button
      type="button" disabled={props.sending} class="btn" data-decide={props.offer.decision}
      classList={{ 'btn-yes': words().tone === 'yes', 'btn-no': words().tone === 'no', 'btn-small': props.small ?? false }}
      aria-keyshortcuts={key()} aria-disabled={quiet() || props.blocked ? 'true' : undefined} aria-describedby={props.blocked} onClick={(event) => props.onPress(event)}
    >
      <span>{words().verb}{words().reach && ' '}<span class="font-normal opacity-90">{words().reach}</span></span>
      <Show when={key()}>{(it) => <span class="kbd max-sm:hidden" aria-hidden="true">{it()}</span>}</Show>
    </button>
  );
}

/** Questions and forms: filled in, then sent as a whole. */
function FillIn(props: AskCardProps) {
  const sending = () => props.submission?.phase === 'sending';
  const others = () => props.ask.offers.filter((it) => it.decision !== 'accept');
  const send = (body: Omit<Answer, 'digest'>) => {
    if (settled()) props.onAnswer({ digest: props.ask.digest, ...body });
  };
  const buttons = (decline: (offer: Offer) => void) => (
    <div class="flex flex-col gap-2 pt-0.5 sm:flex-row sm:flex-wrap">
      <button type="submit" class="btn btn-yes" disabled={sending()} aria-disabled={quiet() ? 'true' : undefined} data-decide-form="accept"><Show when={sending()} fallback="Send answer"><Spinner />Sending…</Show></button>
      <For each={others()}>{(offer) => (
        <OfferButton offer={offer} ask={props.ask} sending={sending()} onPress={(event) => {
          if (!settled(event)) return;
          if (offer.decision === 'decline') decline(offer);
          else props.onAnswer(decided(props.ask, offer));
        }} />
      )}</For>
    </div>
  );
  return (
    <WithDecline {...props}>{(decline) => (
      <Switch>
        <Match when={props.ask.subject.type === 'question' && props.ask.subject}>{(subject) => <QuestionForm questions={subject().questions} disabled={sending()} onSubmit={send}>{buttons(decline)}</QuestionForm>}</Match>
        <Match when={props.ask.subject.type === 'form' && props.ask.subject}>{(subject) => <McpForm schema={subject().schema} disabled={sending()} onSubmit={(content: JsonObject) => send({ content })}>{buttons(decline)}</McpForm>}</Match>
      </Switch>
    )}</WithDecline>
  );
}

/** A settled ask takes one line; what it was about is folded beneath. */
function SettledAsk(props: AskCardProps) {
  const mine = () => props.submission?.phase === 'mine';
  const words = () => settledWords(props.ask.settlement ?? { how: 'settled' }, mine(), isOfAgent(props.ask));
  return (
    <article data-ask={props.ask.requestId} data-state={mine() ? 'settled' : (props.ask.settlement?.how ?? 'settled')} tabindex="-1" aria-label={`${heading(props.ask.subject)} ${words().text}`}>
      <details class="group rounded-lg" classList={{ 'border border-line bg-surface': !props.atItem, 'open:border open:border-line open:bg-surface': props.atItem ?? false }}>
        <summary class="flex flex-wrap items-center gap-x-2 gap-y-0 rounded-lg hover:bg-hover" classList={{ 'px-3 py-1.5': !props.atItem, 'w-fit max-w-full -ml-1.5 px-1.5 py-0.5 group-open:ml-0 group-open:px-3': props.atItem ?? false }}>
          <Icon name={words().tone === 'yes' ? 'check' : words().tone === 'no' ? 'close' : 'clock'} class={words().tone === 'yes' ? 'text-ok' : words().tone === 'no' ? 'text-bad' : 'text-muted'} />
          <Show when={!props.atItem}><span class="code min-w-0 max-w-full truncate">{summaryOf(props.ask.subject)}</span></Show>
          <span class="text-xs text-muted" classList={{ 'ml-auto': !props.atItem }} data-testid="settled">
            {words().text}<Show when={props.ask.settlement?.at}>{(at) => <> · <time datetime={at()}>{clock(at())}</time></>}</Show>
          </span>
        </summary>
        <div class="space-y-2 border-t border-line px-3 py-2">
          <Asker ask={props.ask} sessionTitle={props.sessionTitle} />
          <Body ask={props.ask} past />
          <Show when={props.ask.settlement?.answer}>{(answer) => <AnswerView subject={props.ask.subject} answer={answer()} />}</Show>
          <Show when={props.ask.settlement?.reason}>{(reason) => <p class="text-muted">Told the {props.ask.askedBy ? 'program' : 'agent'}: <Visible text={reason()} prose /></p>}</Show>
        </div>
      </details>
    </article>
  );
}

