/** Questions: options to choose, one or several, an answer in one's own words, or a secret. */

import { createUniqueId, For, type JSX, Show } from 'solid-js';
import { createStore } from 'solid-js/store';
import type { Question } from '../lib/types';
import { HiddenWarning, Visible } from './Text';

/** What was chosen and written, by question. */
export interface Choices {
  answers: Record<string, { answers: string[] }>;
  /** What was written instead of an option that has a name. */
  other?: Record<string, string>;
}

export interface QuestionFormProps {
  questions: Question[];
  disabled?: boolean;
  onSubmit: (choices: Choices) => void;
  children: JSX.Element;
}

interface Entry {
  chosen: string[];
  other: boolean;
  text: string;
}

const options = (question: Question) => question.options ?? [];
/** Where options have names, other words are kept apart from them. */
const isNamed = (question: Question) => options(question).some((it) => it.id != null);

export function QuestionForm(props: QuestionFormProps) {
  const id = createUniqueId();
  const preset = (question: Question) => (options(question).some((it) => (it.id ?? it.label) === question.default) ? [String(question.default)] : []);
  const [entries, setEntries] = createStore<Record<string, Entry>>(Object.fromEntries(props.questions.map((it) => [it.id, { chosen: preset(it), other: false, text: '' }])));
  const [missing, setMissing] = createStore<Record<string, string | undefined>>({});

  const words = (question: Question) => {
    const text = entries[question.id]?.text ?? '';
    return question.isSecret ? text : text.trim();
  };
  const trouble = (question: Question): string | undefined => {
    const entry = entries[question.id];
    if (options(question).length > 0 && entry?.other && words(question) === '') return `Write what ${question.otherLabel ? `“${question.otherLabel}”` : 'else'} means.`;
    const given = options(question).length > 0 ? (entry?.chosen.length ?? 0) > 0 || entry?.other : words(question) !== '';
    return given ? undefined : 'This needs an answer.';
  };
  const choose = (question: Question, name: string, on: boolean) => {
    setMissing(question.id, undefined);
    if (!question.multiple) setEntries(question.id, { chosen: [name], other: false });
    // In the order in which they stand, whichever was clicked first.
    else setEntries(question.id, 'chosen', (before) => options(question).map((it) => it.id ?? it.label).filter((it) => (it === name ? on : before.includes(it))));
  };
  const chooseOther = (question: Question, on: boolean) => {
    setMissing(question.id, undefined);
    setEntries(question.id, question.multiple ? { other: on } : { chosen: [], other: true });
  };

  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const answers: Choices['answers'] = {};
    const other: Record<string, string> = {};
    let first: Question | undefined;
    for (const question of props.questions) {
      const wrong = trouble(question);
      setMissing(question.id, wrong);
      if (wrong !== undefined) first ??= question;
      const { chosen, other: isOther } = entries[question.id] ?? { chosen: [], other: false };
      const written = options(question).length === 0 || isOther;
      if (isNamed(question)) {
        if (chosen.length > 0) answers[question.id] = { answers: [...chosen] };
        if (written) other[question.id] = words(question);
      } else answers[question.id] = { answers: [...chosen, ...(written ? [words(question)] : [])] };
    }
    if (first !== undefined) event.currentTarget.querySelector<HTMLElement>(`[data-question="${CSS.escape(first.id)}"] ${entries[first.id]?.other ? 'input:not([type=radio], [type=checkbox])' : 'input'}`)?.focus();
    else props.onSubmit(Object.keys(other).length > 0 ? { answers, other } : { answers });
  };

  const free = (question: Question, label: string, n: number) => (
    <input
      class="input" type={question.isSecret ? 'password' : 'text'} autocomplete="off" spellcheck={false} aria-label={label} placeholder={question.isSecret ? 'Not shown, not recorded' : ''}
      aria-invalid={missing[question.id] ? 'true' : undefined} aria-describedby={missing[question.id] ? `${id}-${n}-missing` : undefined}
      disabled={props.disabled ?? false} value={entries[question.id]?.text ?? ''}
      onFocus={() => { if (options(question).length > 0 && !entries[question.id]?.other) chooseOther(question, true); }}
      onInput={(event) => { setEntries(question.id, 'text', event.currentTarget.value); setMissing(question.id, undefined); }}
    />
  );
  const mark = (question: Question) => (question.multiple ? 'checkbox' : 'radio');

  return (
    <form class="space-y-4" onSubmit={submit} novalidate>
      <For each={props.questions}>{(question, n) => (
        <fieldset class="space-y-1.5" data-question={question.id} aria-describedby={missing[question.id] ? `${id}-${n()}-missing` : undefined}>
          <legend class="mb-1">
            <Show when={question.header}>{(header) => <span class="chip mr-1.5 font-semibold whitespace-normal"><Visible text={header()} prose /></span>}</Show>
            <span class="text-[0.84375rem] font-medium"><Visible text={question.question} prose /></span>
            <Show when={question.multiple}> <span class="text-xs text-muted">Choose one or more.</span></Show>
          </legend>
          <HiddenWarning texts={[question.header, question.question, question.otherLabel, ...options(question).flatMap((it) => [it.label, it.description])]} />
          <div class="overflow-hidden rounded-md border border-line divide-y divide-line empty:hidden">
            <For each={options(question)}>{(option) => {
              const name = () => option.id ?? option.label;
              return (
                <label class="flex items-start gap-2.5 bg-surface px-2.5 py-1.5 hover:bg-hover has-checked:bg-accent-soft">
                  <input
                    type={mark(question)} class="mt-1" name={`${id}-${n()}`} disabled={props.disabled ?? false} checked={entries[question.id]?.chosen.includes(name()) ?? false}
                    onChange={(event) => choose(question, name(), event.currentTarget.checked)}
                  />
                  <span class="min-w-0"><span class="font-medium"><Visible text={option.label} prose /></span><Show when={question.default != null && name() === question.default}> <span class="chip">recommended</span></Show><Show when={option.description}>{(words) => <span class="block text-xs text-muted"><Visible text={words()} prose /></span>}</Show></span>
                </label>
              );
            }}</For>
            <Show when={options(question).length > 0 && question.isOther}>
              <div class="flex flex-wrap items-center gap-x-2.5 gap-y-1 bg-surface px-2.5 py-1.5 has-checked:bg-accent-soft">
                <label class="flex items-center gap-2.5">
                  <input
                    type={mark(question)} name={`${id}-${n()}`} disabled={props.disabled ?? false} checked={entries[question.id]?.other ?? false}
                    onChange={(event) => chooseOther(question, event.currentTarget.checked)}
                  />
                  <span class="font-medium"><Visible text={question.otherLabel || 'Other'} prose /></span>
                </label>
                <div class="min-w-40 flex-1">{free(question, `Other answer to: ${question.question}`, n())}</div>
              </div>
            </Show>
          </div>
          <Show when={options(question).length === 0}>{free(question, question.question, n())}</Show>
          <Show when={question.isSecret}><p class="text-xs text-muted">A secret: it goes to the agent and is not kept in the log.</p></Show>
          <Show when={missing[question.id]}>{(words) => <p id={`${id}-${n()}-missing`} class="text-xs font-semibold text-bad">{words()}</p>}</Show>
        </fieldset>
      )}</For>
      {props.children}
    </form>
  );
}
