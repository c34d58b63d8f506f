/** Questions of the agent: options to choose, a free answer, or a secret. */

import { createUniqueId, For, type JSX, Show } from 'solid-js';
import { createStore } from 'solid-js/store';
import type { Question } from '../lib/types';
import { HiddenWarning, Visible } from './Text';

export interface QuestionFormProps {
  questions: Question[];
  disabled?: boolean;
  onSubmit: (answers: Record<string, { answers: string[] }>) => void;
  children: JSX.Element;
}

interface Entry {
  choice: number | 'other' | undefined;
  text: string;
}

export function QuestionForm(props: QuestionFormProps) {
  const id = createUniqueId();
  const [entries, setEntries] = createStore<Record<string, Entry>>(Object.fromEntries(props.questions.map((it) => [it.id, { choice: undefined, text: '' }])));
  const [missing, setMissing] = createStore<Record<string, boolean>>({});
  const options = (question: Question) => question.options ?? [];

  const answerTo = (question: Question): string | undefined => {
    const entry = entries[question.id];
    if (!entry) return undefined;
    if (typeof entry.choice === 'number') return options(question)[entry.choice]?.label;
    if (options(question).length > 0 && entry.choice !== 'other') return undefined;
    return question.isSecret ? entry.text || undefined : entry.text.trim() || undefined;
  };

  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const res: Record<string, { answers: string[] }> = {};
    let first: string | undefined;
    for (const question of props.questions) {
      const answer = answerTo(question);
      setMissing(question.id, answer === undefined);
      if (answer === undefined) first ??= question.id;
      else res[question.id] = { answers: [answer] };
    }
    if (first !== undefined) event.currentTarget.querySelector<HTMLElement>(`[data-question="${CSS.escape(first)}"] input`)?.focus();
    else props.onSubmit(res);
  };

  const free = (question: Question, label: string) => (
    <input
      class="input" type={question.isSecret ? 'password' : 'text'} autocomplete="off" spellcheck={false} aria-label={label} placeholder={question.isSecret ? 'Not shown, not recorded' : ''}
      disabled={props.disabled ?? false} value={entries[question.id]?.text ?? ''}
      onFocus={() => options(question).length > 0 && setEntries(question.id, 'choice', 'other')}
      onInput={(event) => setEntries(question.id, 'text', event.currentTarget.value)}
    />
  );

  return (
    <form class="space-y-4" onSubmit={submit} novalidate>
      <For each={props.questions}>{(question, n) => (
        <fieldset class="space-y-1.5" data-question={question.id} aria-describedby={missing[question.id] ? `${id}-${n()}-missing` : undefined}>
          <legend class="mb-1">
            <Show when={question.header}>{(header) => <span class="mr-1.5 text-xs font-semibold text-muted"><Visible text={header()} prose /></span>}</Show>
            <span class="text-[0.84375rem] font-medium"><Visible text={question.question} prose /></span>
          </legend>
          <HiddenWarning texts={options(question).map((it) => it.label)} />
          <div class="overflow-hidden rounded-md border border-line divide-y divide-line empty:hidden">
            <For each={options(question)}>{(option, i) => (
              <label class="flex items-start gap-2.5 bg-surface px-2.5 py-1.5 hover:bg-hover has-checked:bg-accent-soft">
                <input
                  type="radio" class="mt-1" name={`${id}-${n()}`} disabled={props.disabled ?? false} checked={entries[question.id]?.choice === i()}
                  onChange={() => { setEntries(question.id, 'choice', i()); setMissing(question.id, false); }}
                />
                <span><span class="font-medium"><Visible text={option.label} prose /></span><Show when={option.description}>{(words) => <span class="block text-xs text-muted"><Visible text={words()} prose /></span>}</Show></span>
              </label>
            )}</For>
            <Show when={options(question).length > 0 && question.isOther}>
              <div class="flex items-center gap-2.5 bg-surface px-2.5 py-1.5 has-checked:bg-accent-soft">
                <input
                  type="radio" name={`${id}-${n()}`} aria-label="Other" disabled={props.disabled ?? false} checked={entries[question.id]?.choice === 'other'}
                  onChange={() => { setEntries(question.id, 'choice', 'other'); setMissing(question.id, false); }}
                />
                <span class="font-medium" aria-hidden="true">Other</span>
                {free(question, `Other answer to: ${question.question}`)}
              </div>
            </Show>
          </div>
          <Show when={options(question).length === 0}>{free(question, question.question)}</Show>
          <Show when={question.isSecret}><p class="text-xs text-muted">A secret: it goes to the agent and is not kept in the log.</p></Show>
          <Show when={missing[question.id]}><p id={`${id}-${n()}-missing`} class="text-xs font-semibold text-bad">This needs an answer.</p></Show>
        </fieldset>
      )}</For>
      {props.children}
    </form>
  );
}
