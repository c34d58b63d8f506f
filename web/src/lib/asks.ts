/** What an ask, its offers and its settlement are called, in words for a person. */

import { firstWords, plainly, shortCommand } from './display';
import type { Actor, Answer, AskKind, AskView, Json, Offer, Settlement, Subject } from './types';

export function heading(subject: Subject): string {
  switch (subject.type) {
    case 'adoption':
      return 'Let this client take the session over?';
    case 'command':
      return subject.host ? 'Allow this connection?' : subject.writeStdin ? 'Send this input to a running terminal?' : 'Run this command?';
    case 'fileChange':
      return subject.changes.length === 0 && subject.grantRoot ? 'Allow writing in this directory?' : 'Change these files?';
    case 'permissions':
      return 'Give more permissions?';
    case 'question':
      return subject.questions.length > 1 ? 'Which of these?' : 'Which?';
    case 'form':
      return `${plainly(subject.server)} asks you to fill in a form`;
    case 'url':
      return `${plainly(subject.server)} asks you to open a page`;
    case 'tool':
      return 'Call this tool?';
    default:
      return 'The agent asks something';
  }
}

export interface OfferWords {
  verb: string;
  /** How far it reaches. */
  reach: string;
  tone: 'yes' | 'wide' | 'no';
  /** What an amendment would allow, shown beside the button. */
  amendment?: string;
}

/** What an ask is about, and whether a program asks it: then there is no turn, and nobody goes on or ends one. */
type Asked = Pick<AskView, 'subject'> & Partial<Pick<AskView, 'askedBy'>>;

/** Whether no agent waits for it. */
export const isOfAgent = (ask: Asked) => !ask.askedBy && ask.subject.type !== 'adoption';

export function offerWords(offer: Offer, ask?: Asked): OfferWords {
  const reach = reachWords(offer);
  const ofAgent = !ask || isOfAgent(ask);
  switch (offer.decision) {
    case 'accept':
      return ask?.subject.type === 'url' ? { verb: 'Done', reach: '', tone: 'yes' } : ask?.subject.type === 'adoption' ? { verb: 'Accept', reach: '', tone: 'yes' } : { verb: 'Accept', reach: reach || 'once', tone: 'yes' };
    case 'acceptForSession':
      return { verb: 'Accept', reach: reach || 'for this thread', tone: 'wide' };
    case 'acceptAlways':
      return { verb: 'Accept', reach: 'always, everywhere on this machine', tone: 'wide' };
    case 'acceptWithExecpolicyAmendment': {
      const prefix = offer.execpolicyAmendment;
      return {
        verb: 'Accept', reach: 'always, everywhere on this machine', tone: 'wide',
        ...(prefix ? { amendment: `every command that begins with ${prefix.map(quote).join(' ')}` } : {}),
      };
    }
    case 'applyNetworkPolicyAmendment': {
      const network = offer.networkPolicyAmendment;
      const deny = network?.action === 'deny';
      return {
        verb: deny ? 'Deny' : 'Accept', reach: 'always, everywhere on this machine', tone: deny ? 'no' : 'wide',
        ...(network ? { amendment: `every connection to ${plainly(network.host)}` } : {}),
      };
    }
    case 'decline':
      return { verb: 'Decline', reach: ofAgent ? 'and go on' : '', tone: 'no' };
    case 'cancel':
      return ofAgent ? { verb: 'Decline', reach: 'and end the turn', tone: 'no' } : { verb: 'Dismiss', reach: 'without an answer', tone: 'no' };
    default:
      return { verb: plainly(String(offer.decision)), reach, tone: 'wide' };
  }
}

function reachWords(offer: Offer): string {
  switch (offer.reach) {
    case 'once':
      return 'once';
    case 'turn':
      return 'for the rest of this turn';
    case 'thread':
      return 'for this thread';
    case 'always':
      return 'always, everywhere on this machine';
    default:
      return '';
  }
}

function quote(word: string): string {
  const text = plainly(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What an ask is about, on one line. */
export function summaryOf(subject: Subject): string {
  switch (subject.type) {
    case 'command':
      return firstWords(subject.argv?.length ? subject.argv.map(quote).join(' ') : shortCommand(subject.command), 90);
    case 'fileChange':
      return subject.changes.length === 0 ? `writing in ${plainly(subject.grantRoot ?? '')}` : subject.changes.map((it) => plainly(it.path).split('/').at(-1)).slice(0, 3).join(', ') + (subject.changes.length > 3 ? ` and ${subject.changes.length - 3} more` : '');
    case 'permissions':
      return 'more permissions';
    case 'question':
      return firstWords(subject.questions.map((it) => it.question).join(' '), 90);
    case 'tool':
      return `${plainly(subject.server)} · ${plainly(subject.tool)}`;
    case 'form':
    case 'url':
      return firstWords(subject.message, 90);
    case 'adoption':
      return `${firstWords(subject.client || 'a program without a name', 60)} wants this session`;
    default:
      return '';
  }
}

/** The body of a decision, with the amendment that the offer named, never another. */
export function decided(ask: Pick<AskView, 'digest'>, offer: Offer, reason?: string): Answer {
  const res: Answer = { digest: ask.digest, decision: offer.decision };
  if (offer.decision === 'acceptWithExecpolicyAmendment' && offer.execpolicyAmendment) res.execpolicy_amendment = offer.execpolicyAmendment;
  if (offer.decision === 'applyNetworkPolicyAmendment' && offer.networkPolicyAmendment) res.network_policy_amendment = offer.networkPolicyAmendment;
  if (reason?.trim()) res.reason = reason.trim();
  return res;
}

export const isNo = (offer: Offer) => offer.decision === 'decline' || offer.decision === 'cancel';

export function actorWords(by: Actor | null | undefined): string {
  switch (by?.type) {
    case 'human': {
      const via = plainly(by.via ?? '');
      if (via === 'console') return 'a person in the console';
      if (via === 'cli') return 'a person in a terminal';
      if (via === 'rest') return 'a person over the API';
      return `a person${via ? ` through ${via}` : ''}${by.verified === false ? ' (unverified)' : ''}`;
    }
    case 'caller':
      return `the calling program${by.id ? ` ${plainly(by.id)}` : ''}`;
    case 'policy':
      return `the rule ${plainly(by.rule ?? '')}`.trim();
    case 'clock':
      return 'the clock';
    case 'agent':
      return 'the agent';
    case 'node':
      return 'Pilothouse';
    default:
      return 'someone';
  }
}

export interface SettledWords {
  text: string;
  tone: 'yes' | 'no' | 'none';
}

/** How an ask ended; `mine` when this window gave the answer. */
export function settledWords(settlement: Settlement, mine: boolean, ofAgent = true): SettledWords {
  const asker = ofAgent ? 'agent' : 'program';
  switch (settlement.how) {
    case 'answered': {
      const { verb, tone } = answerWords(settlement.answer, ofAgent);
      return { text: `${verb} by ${mine ? 'you' : actorWords(settlement.by)}`, tone };
    }
    case 'expired':
      return settlement.answer == null
        ? { text: 'Nobody answered in time', tone: 'none' }
        : { text: `Nobody answered in time, so a rule ${ruleWords(settlement.answer)}`, tone: answerWords(settlement.answer, ofAgent).tone === 'no' ? 'no' : 'none' };
    case 'withdrawn':
      return { text: `The ${asker} stopped waiting for an answer`, tone: 'none' };
    case 'lost':
      return { text: `Lost: the ${asker} that asked is gone`, tone: 'none' };
    default:
      return { text: `Settled (${plainly(String(settlement.how))})`, tone: 'none' };
  }
}

/** What a rule said for a person who did not answer in time. */
function ruleWords(answer: Json): string {
  const decision = typeof answer === 'object' && answer !== null && !Array.isArray(answer) ? answer['decision'] : answer;
  return decision === 'decline' ? 'declined' : decision === 'cancel' ? 'declined and stopped' : 'chose the default';
}

function answerWords(answer: Json | undefined, ofAgent: boolean): { verb: string; tone: 'yes' | 'no' } {
  const object = typeof answer === 'object' && answer !== null && !Array.isArray(answer) ? answer : {};
  const decision = typeof answer === 'string' ? answer : object['decision'];
  switch (decision) {
    case 'decline':
      return { verb: 'Declined', tone: 'no' };
    case 'cancel':
      return { verb: ofAgent ? 'Declined and stopped' : 'Dismissed', tone: 'no' };
    case 'acceptForSession':
      return { verb: 'Accepted for this thread', tone: 'yes' };
    case 'acceptAlways':
    case 'acceptWithExecpolicyAmendment':
      return { verb: 'Accepted for always', tone: 'yes' };
    case 'applyNetworkPolicyAmendment': {
      const network = object['networkPolicyAmendment'];
      const deny = typeof network === 'object' && network !== null && !Array.isArray(network) && network['action'] === 'deny';
      return deny ? { verb: 'Denied for always', tone: 'no' } : { verb: 'Accepted for always', tone: 'yes' };
    }
    case 'accept':
      return { verb: 'Accepted', tone: 'yes' };
    default:
      return { verb: 'Answered', tone: 'yes' };
  }
}

/** `req_<session>_<n>`, as every surface names an ask. */
export function requestIdOf(sessionId: string, ask: number): string {
  return `req_${sessionId.replace(/^sess_/, '')}_${ask}`;
}

/** The session that an ask is of, by the ask's name. */
export function sessionIdOf(requestId: string): string | undefined {
  const name = /^req_(.+)_\d+$/.exec(requestId)?.[1];
  return name === undefined ? undefined : `sess_${name}`;
}

const KINDS: Record<string, AskKind> = { command: 'command', fileChange: 'fileChange', permissions: 'permissions', adoption: 'permissions', question: 'user_input' };

type Loose = Record<string, unknown>;

/** An ask as the log records it, in the form that the REST interface gives. */
export function askFromEvent(sessionId: string, raw: unknown): AskView | undefined {
  const ask = raw as Loose | undefined;
  const subject = ask?.['subject'] as Subject | undefined;
  if (!ask || typeof ask['id'] !== 'number' || !subject) return undefined;
  return tidyAsk({
    requestId: requestIdOf(sessionId, ask['id']),
    sessionId,
    kind: KINDS[subject.type] ?? 'elicitation',
    state: 'pending',
    raisedAt: String(ask['raisedAt'] ?? ''),
    expiresAt: (ask['expiresAt'] as string | undefined) ?? null,
    turn: (ask['turn'] as number | undefined) ?? null,
    itemId: (ask['item'] as string | undefined) ?? null,
    reason: (ask['reason'] as string | undefined) ?? null,
    digest: String(ask['digest'] ?? ''),
    subject,
    offers: (ask['offers'] as Offer[] | undefined) ?? [],
    params: (ask['params'] as Json | undefined) ?? null,
    agent: (ask['agent'] as AskView['agent']) ?? null,
    askedBy: (ask['askedBy'] as AskView['askedBy']) ?? null,
  });
}

/** A settlement as the REST interface gives it: `how` is the log's own object, or a word with the rest beside it. */
export function tidySettlement(raw: unknown): Settlement {
  const settlement = (raw ?? {}) as Loose;
  const at = typeof settlement['at'] === 'string' ? settlement['at'] : '';
  return typeof settlement['how'] === 'object' ? settlementFromEvent(settlement['how'], at) : settlementFromEvent(settlement, at);
}

/** Brings the spellings of an offer's amendment and of a settlement, nested and flat, to the flat ones. */
export function tidyAsk(ask: AskView): AskView {
  const offers = (ask.offers ?? []).map((it): Offer => {
    const nested = (it as Offer & { amendment?: { execpolicyAmendment?: string[]; network?: { action: string; host: string } } | null }).amendment;
    const prefix = it.execpolicyAmendment ?? nested?.execpolicyAmendment;
    const network = it.networkPolicyAmendment ?? nested?.network;
    return {
      decision: it.decision,
      ...(it.reach ? { reach: it.reach } : {}),
      ...(prefix ? { execpolicyAmendment: prefix } : {}),
      ...(network ? { networkPolicyAmendment: network } : {}),
    };
  });
  return { ...ask, offers, ...(ask.settlement ? { settlement: tidySettlement(ask.settlement) } : {}) };
}

/** A settlement as the log records it (`type`), in the form that the REST interface gives (`how`). */
export function settlementFromEvent(raw: unknown, at: string): Settlement {
  if (typeof raw === 'string') return { how: raw, at };
  const how = (raw ?? {}) as Loose;
  return {
    how: String(how['type'] ?? how['how'] ?? 'settled'),
    at,
    ...(how['by'] ? { by: how['by'] as Actor } : {}),
    ...(how['answer'] === undefined ? {} : { answer: how['answer'] as Json }),
    ...(typeof how['reason'] === 'string' ? { reason: how['reason'] } : {}),
    ...(typeof how['waitedS'] === 'number' ? { waitedS: how['waitedS'] } : {}),
  };
}
