/** What was answered: the options by their labels, other words, the fields of a form. */

import { For, Show } from 'solid-js';
import type { Json, Question, Subject } from '../lib/types';
import { Visible } from './Text';

export interface AnswerViewProps {
  subject: Subject;
  answer: Json;
}

interface Given {
  name: string;
  said: string[];
}

export function AnswerView(props: AnswerViewProps) {
  const rows = () => given(props.subject, props.answer);
  return (
    <Show when={rows().length > 0}>
      <dl class="grid grid-cols-[minmax(0,auto)_minmax(0,1fr)] gap-x-3 gap-y-0.5" aria-label="Answer">
        <For each={rows()}>{(row) => (
          <><dt class="text-muted"><Visible text={row.name} prose /></dt><dd class="whitespace-pre-wrap break-words font-medium"><For each={row.said}>{(it, i) => <>{i() > 0 ? ', ' : ''}<Visible text={it} prose /></>}</For></dd></>
        )}</For>
      </dl>
    </Show>
  );
}

const object = (value: Json | undefined): { [key: string]: Json } => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {});
const list = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map((it) => (typeof it === 'string' ? it : JSON.stringify(it))) : []);

function given(subject: Subject, answer: Json): Given[] {
  const said = object(answer);
  if (subject.type === 'question') {
    const answers = object(said['answers']);
    const other = object(said['other']);
    return subject.questions.flatMap((question) => {
      const chosen = list(answers[question.id]).map((it) => labelOf(question, it));
      const words = other[question.id];
      const all = typeof words === 'string' ? [...chosen, `${question.otherLabel || 'Other'}: ${words}`] : chosen;
      return all.length > 0 ? [{ name: question.header || question.question, said: all }] : [];
    });
  }
  if (subject.type !== 'form') return [];
  const properties = object(subject.schema['properties']);
  return Object.entries(object(said['content'])).map(([name, value]) => {
    const title = object(properties[name])['title'];
    return { name: typeof title === 'string' ? title : name, said: Array.isArray(value) ? list(value) : [typeof value === 'string' ? value : JSON.stringify(value)] };
  });
}

const labelOf = (question: Question, name: string) => question.options?.find((it) => (it.id ?? it.label) === name)?.label ?? name;
