import { describe, expect, it } from 'vitest';
import { askFromEvent, decided, heading, offerWords, requestIdOf, sessionIdOf, settledWords, settlementFromEvent, summaryOf, tidyAsk, tidySettlement } from './asks';
import type { AskView } from './types';

const ask = (offers: unknown[]) => tidyAsk({ requestId: 'r', sessionId: 's', kind: 'command', state: 'pending', raisedAt: '', digest: 'd', subject: { type: 'command', command: 'x' }, offers } as AskView);

it('names the reach of every offer', () => {
  const words = (decision: string, reach?: string) => { const { verb, reach: far } = offerWords({ decision, ...(reach ? { reach } : {}) }); return `${verb} ${far}`; };
  expect(words('accept', 'once')).toBe('Accept once');
  expect(words('acceptForSession', 'thread')).toBe('Accept for this thread');
  expect(words('acceptAlways', 'always')).toBe('Accept always, everywhere on this machine');
  expect(words('acceptWithExecpolicyAmendment', 'always')).toBe('Accept always, everywhere on this machine');
  expect(words('decline', 'once')).toBe('Decline and go on');
  expect(words('cancel', 'turn')).toBe('Decline and end the turn');
  expect(words('somethingNew', 'turn')).toBe('somethingNew for the rest of this turn');
});

describe('answers', () => {
  it('carry the amendment that was offered, from either spelling', () => {
    const { offers } = ask([
      { decision: 'acceptWithExecpolicyAmendment', reach: 'always', amendment: { execpolicyAmendment: ['mkdir', 'x'] } },
      { decision: 'acceptWithExecpolicyAmendment', reach: 'always', execpolicyAmendment: ['git'] },
      { decision: 'applyNetworkPolicyAmendment', reach: 'always', amendment: { network: { action: 'deny', host: 'h' } } },
    ]);
    expect(offers.map((it) => decided({ digest: 'd' }, it))).toEqual([
      { digest: 'd', decision: 'acceptWithExecpolicyAmendment', execpolicy_amendment: ['mkdir', 'x'] },
      { digest: 'd', decision: 'acceptWithExecpolicyAmendment', execpolicy_amendment: ['git'] },
      { digest: 'd', decision: 'applyNetworkPolicyAmendment', network_policy_amendment: { action: 'deny', host: 'h' } },
    ]);
    expect(offers.map((it) => offerWords(it).tone)).toEqual(['wide', 'wide', 'no']);
  });
  it('carry a reason only when there is one', () => {
    expect(decided({ digest: 'd' }, { decision: 'decline' }, '  ')).toEqual({ digest: 'd', decision: 'decline' });
    expect(decided({ digest: 'd' }, { decision: 'decline' }, ' too wide ')).toEqual({ digest: 'd', decision: 'decline', reason: 'too wide' });
  });
});

describe('settlements', () => {
  it.each([
    [{ type: 'answered', answer: { type: 'decided', decision: 'accept' }, by: { type: 'human', via: 'console', verified: true }, bound: true }, 'Accepted by a person in the console'],
    [{ type: 'answered', answer: { type: 'decided', decision: 'decline' }, by: { type: 'human', via: 'cli', verified: true } }, 'Declined by a person in a terminal'],
    [{ type: 'answered', answer: { type: 'decided', decision: 'cancel' }, by: { type: 'caller', id: 'c1' } }, 'Declined and stopped by the calling program c1'],
    [{ type: 'answered', answer: { type: 'chosen', answers: {} }, by: { type: 'human', via: 'Some Client', verified: false } }, 'Answered by a person through Some Client (unverified)'],
    [{ type: 'answered', answer: { type: 'decided', decision: 'accept' }, by: { type: 'policy', rule: 'ls' } }, 'Accepted by the rule ls'],
    [{ type: 'expired', waitedS: 60 }, 'Nobody answered in time'],
    [{ type: 'expired', waitedS: 60, answer: { type: 'decided', decision: 'decline' } }, 'Nobody answered in time, so a rule declined'],
    [{ type: 'expired', waitedS: 60, answer: { type: 'decided', decision: 'cancel' } }, 'Nobody answered in time, so a rule declined and stopped'],
    [{ type: 'expired', waitedS: 60, answer: { type: 'chosen', answers: { q: ['a'] } } }, 'Nobody answered in time, so a rule chose the default'],
    [{ type: 'withdrawn' }, 'The agent stopped waiting for an answer'],
    [{ type: 'lost' }, 'Lost: the agent that asked is gone'],
  ])('%j', (how, expected) => expect(settledWords(settlementFromEvent(how, 'now'), false).text).toBe(expected));
  it('read the same from the log, and nested or flat from the REST interface', () => {
    const how = { type: 'answered', answer: { type: 'decided', decision: 'accept' }, by: { type: 'human', via: 'console', verified: true }, reason: 'r', bound: true };
    const expected = settlementFromEvent(how, 't');
    expect(expected).toEqual({ how: 'answered', at: 't', answer: how.answer, by: how.by, reason: 'r' });
    expect(tidySettlement({ at: 't', how })).toEqual(expected);
    expect(tidySettlement(expected)).toEqual(expected);
    expect(tidySettlement({ at: 't', how: { type: 'withdrawn' } })).toEqual({ how: 'withdrawn', at: 't' });
  });
  it('say "you" for what this window answered', () => {
    expect(settledWords({ how: 'answered', answer: { type: 'decided', decision: 'accept' }, by: { type: 'human', via: 'console' } }, true)).toEqual({ text: 'Accepted by you', tone: 'yes' });
  });
});

it('what a program asks has no turn to end, and no agent that goes on', () => {
  const asked = { subject: { type: 'question', questions: [] }, askedBy: { type: 'caller', id: 'c' } } as const;
  const words = (decision: string) => { const { verb, reach } = offerWords({ decision, reach: 'once' }, { ...asked, subject: { ...asked.subject, questions: [] } }); return `${verb} ${reach}`.trim(); };
  expect([words('decline'), words('cancel')]).toEqual(['Decline', 'Dismiss without an answer']);
  expect(settledWords({ how: 'withdrawn' }, false, false).text).toBe('The program stopped waiting for an answer');
  expect(settledWords({ how: 'lost' }, false, false).text).toBe('Lost: the program that asked is gone');
  expect(settledWords({ how: 'answered', answer: { decision: 'cancel' } }, true, false).text).toBe('Dismissed by you');
});

it.each([
  [{ type: 'command', command: 'rm -rf "a b"', argv: ['rm', '-rf', 'a b'] }, "rm -rf 'a b'"],
  [{ type: 'command', command: "/bin/bash -lc 'ls'" }, 'ls'],
  [{ type: 'adoption', caller: 'c', client: 'Some\u202e Client' }, 'Some\\u{202E} Client wants this session'],
  [{ type: 'adoption', caller: 'c' }, 'a program without a name wants this session'],
] as [AskView['subject'], string][])('what it is about fits on a line: %j', (subject, expected) => expect(summaryOf(subject)).toBe(expected));

it('an ask is named as every surface names it', () => {
  expect(requestIdOf(`sess_${'0'.repeat(32)}`, 3)).toBe(`req_${'0'.repeat(32)}_3`);
  expect(sessionIdOf(requestIdOf('sess_ab', 12))).toBe('sess_ab');
  expect(sessionIdOf('nonsense')).toBeUndefined();
});

it('an ask of the log reads like one of the REST interface', () => {
  const raised = askFromEvent('sess_a', { id: 2, key: 'g1:0', turn: 1, item: 'call_1', subject: { type: 'question', questions: [{ id: 'q', question: 'Which?' }] }, offers: [{ decision: 'cancel', reach: 'turn' }], digest: 'd', params: {}, raisedAt: '2031-01-01T00:00:00Z' });
  expect(raised).toMatchObject({ requestId: 'req_a_2', kind: 'user_input', state: 'pending', itemId: 'call_1', turn: 1, digest: 'd' });
  expect(raised && heading(raised.subject)).toBe('Which?');
  expect(askFromEvent('sess_a', { id: 1 })).toBeUndefined();
});
