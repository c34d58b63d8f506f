/** A form that an MCP server asked for, made from its flat schema. */

import { createMemo, createUniqueId, For, type JSX, Match, Show, Switch } from 'solid-js';
import { createStore } from 'solid-js/store';
import { plainly } from '../lib/display';
import { content, hint, initial, parseForm, problem, type Field, type Raw } from '../lib/mcpForm';
import type { JsonObject } from '../lib/types';
import { HiddenWarning, Visible } from './Text';

export interface McpFormProps {
  schema: JsonObject;
  disabled?: boolean;
  onSubmit: (content: JsonObject) => void;
  /** The buttons; a submit button sends the form. */
  children: JSX.Element;
}

const INPUT_TYPES: Record<string, string> = { email: 'email', uri: 'url', date: 'date', 'date-time': 'datetime-local' };

export function McpForm(props: McpFormProps) {
  const id = createUniqueId();
  const fields = createMemo(() => parseForm(props.schema));
  const [raw, setRaw] = createStore<Raw>(initial(fields()));
  const [touched, setTouched] = createStore<Record<string, boolean>>({});
  const trouble = (field: Field) => (touched[field.name] ? problem(field, raw[field.name]) : undefined);

  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const wrong = fields().filter((it) => problem(it, raw[it.name]));
    for (const it of fields()) setTouched(it.name, true);
    if (wrong[0]) event.currentTarget.querySelector<HTMLElement>(`[data-field="${CSS.escape(wrong[0].name)}"]`)?.focus();
    else props.onSubmit(content(fields(), raw));
  };

  const aria = (field: Field) => ({
    id: `${id}-${field.name}`,
    'data-field': field.name,
    'aria-invalid': trouble(field) ? ('true' as const) : undefined,
    'aria-describedby': `${id}-${field.name}-about`,
    'aria-required': field.required ? ('true' as const) : undefined,
    disabled: props.disabled ?? false,
    onBlur: () => setTouched(field.name, true),
  });
  const typed = (field: Field) => ({
    ...aria(field),
    class: 'input',
    value: String(raw[field.name] ?? ''),
    onInput: (event: InputEvent & { currentTarget: HTMLInputElement }) => setRaw(field.name, event.currentTarget.value),
  });
  const mark = (field: Field) => <Show when={field.required}><span class="text-bad" title="required"> *</span></Show>;

  return (
    <form class="space-y-3" onSubmit={submit} novalidate>
      <For each={fields()}>{(field) => (
        <div class="space-y-1">
          <Switch fallback={<label class="block font-medium" for={`${id}-${field.name}`}><Visible text={field.title} prose />{mark(field)}</label>}>
            <Match when={field.kind === 'boolean' || field.kind === 'multi' || field.kind === 'unknown'}>{null}</Match>
          </Switch>
          <Switch>
            <Match when={field.kind === 'string' && field}>{(it) => <input type={INPUT_TYPES[it().format ?? ''] ?? 'text'} autocomplete="off" spellcheck={false} step={it().format === 'date-time' ? '1' : undefined} {...typed(field)} />}</Match>
            <Match when={field.kind === 'number' && field}>{(it) => <input type="text" inputmode={it().integer ? 'numeric' : 'decimal'} autocomplete="off" {...typed(field)} />}</Match>
            <Match when={field.kind === 'select' && field}>{(it) => (
              <select class="input" {...aria(field)} onChange={(event) => setRaw(field.name, event.currentTarget.value)}>
                <option value="" selected={!raw[field.name]}>{field.required ? 'Choose…' : '—'}</option>
                <For each={it().choices}>{(choice) => <option value={choice.value} selected={choice.value === raw[field.name]}>{plainly(choice.title)}</option>}</For>
              </select>
            )}</Match>
            <Match when={field.kind === 'boolean' && field.default === undefined}>
              <fieldset class="space-y-0.5" aria-describedby={`${id}-${field.name}-about`}>
                <legend class="font-medium"><Visible text={field.title} prose />{mark(field)}</legend>
                <div class="flex flex-wrap gap-x-4">
                  <For each={field.required ? [true, false] : [true, false, undefined]}>{(choice) => (
                    <label class="flex items-center gap-2">
                      <input
                        type="radio" name={`${id}-${field.name}`} disabled={props.disabled ?? false} data-field={choice === true ? field.name : undefined}
                        checked={raw[field.name] === choice && (choice !== undefined || touched[field.name] === true)} onChange={() => { setRaw(field.name, choice); setTouched(field.name, true); }}
                      />
                      {choice === undefined ? 'Leave open' : choice ? 'Yes' : 'No'}
                    </label>
                  )}</For>
                </div>
              </fieldset>
            </Match>
            <Match when={field.kind === 'boolean'}>
              <label class="flex items-start gap-2 font-medium">
                <input type="checkbox" class="mt-1" {...aria(field)} checked={raw[field.name] === true} onChange={(event) => setRaw(field.name, event.currentTarget.checked)} />
                <span><Visible text={field.title} prose />{mark(field)}</span>
              </label>
            </Match>
            <Match when={field.kind === 'multi' && field}>{(it) => (
              <fieldset aria-describedby={`${id}-${field.name}-about`}>
                <legend class="font-medium"><Visible text={field.title} prose />{mark(field)}</legend>
                <For each={it().choices}>{(choice, i) => (
                  <label class="flex items-start gap-2 py-0.5">
                    <input
                      type="checkbox" class="mt-1" disabled={props.disabled ?? false} data-field={i() === 0 ? field.name : undefined}
                      checked={(raw[field.name] as string[]).includes(choice.value)}
                      onChange={(event) => {
                        const on = event.currentTarget.checked;
                        setTouched(field.name, true);
                        setRaw(field.name, (chosen) => {
                          const others = (chosen as string[]).filter((value) => value !== choice.value);
                          return on ? [...others, choice.value] : others;
                        });
                      }}
                    />
                    <Visible text={choice.title} prose />
                  </label>
                )}</For>
              </fieldset>
            )}</Match>
            <Match when={field.kind === 'unknown'}>
              <p class="text-muted"><Visible text={field.title} prose />{mark(field)}: this kind of field can’t be filled in here.</p>
            </Match>
          </Switch>
          <p id={`${id}-${field.name}-about`} class="text-xs text-muted empty:hidden">
            <Show when={field.description}>{(words) => <Visible text={words()} prose />}</Show>
            <Show when={hint(field)}>{(words) => <>{field.description ? ' ' : ''}<Visible text={words()} prose /></>}</Show>
            <Show when={trouble(field)}>{(words) => <>{' '}<strong class="font-semibold text-bad">{words()}</strong></>}</Show>
          </p>
          <HiddenWarning texts={[field.title, field.description, ...(field.kind === 'select' || field.kind === 'multi' ? field.choices.map((it) => it.title) : [])]} />
        </div>
      )}</For>
      {props.children}
    </form>
  );
}
