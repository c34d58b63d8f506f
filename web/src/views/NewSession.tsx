/** A form that starts a session: where, what, and how much the agent may do by itself. */

import { createSignal, createUniqueId, For, onMount, Show } from 'solid-js';
import { Spinner } from '../components/Icon';
import type { NewSession as Wanted } from '../lib/types';

export interface NewSessionProps {
  directories: string[];
  models: string[];
  onCreate: (session: Wanted) => Promise<void>;
}

const POLICIES = [
  ['untrusted', 'Before anything but reading', 'Every command that is not known to only read waits for a person.'],
  ['on-request', 'When the agent wants more', 'It asks when it needs to leave the sandbox.'],
  ['never', 'Never', 'Nothing is asked; what the sandbox forbids fails.'],
] as const;

const SANDBOXES = [
  ['read-only', 'Read only', 'Commands can’t write.'],
  ['workspace-write', 'Write in the directory', 'Commands can write in the session’s directory, without network.'],
  ['danger-full-access', 'No sandbox', 'Commands can do all that you can do.'],
] as const;

export function NewSession(props: NewSessionProps) {
  const id = createUniqueId();
  const [prompt, setPrompt] = createSignal('');
  const [cwd, setCwd] = createSignal('');
  const [policy, setPolicy] = createSignal<string>('untrusted');
  const [sandbox, setSandbox] = createSignal<string>('workspace-write');
  const [model, setModel] = createSignal('');
  const [effort, setEffort] = createSignal('');
  const [sending, setSending] = createSignal(false);
  const [failure, setFailure] = createSignal<string | undefined>();
  let area!: HTMLTextAreaElement;
  onMount(() => area.focus());

  const submit = async (event?: SubmitEvent) => {
    event?.preventDefault();
    if (sending()) return;
    if (prompt().trim() === '') {
      setFailure('Say what the agent should do.');
      area.focus();
      return;
    }
    setSending(true);
    setFailure(undefined);
    try {
      await props.onCreate({
        prompt: prompt(), approvalPolicy: policy(), sandbox: sandbox(),
        ...(cwd().trim() ? { cwd: cwd().trim() } : {}), ...(model().trim() ? { model: model().trim() } : {}), ...(effort() ? { effort: effort() } : {}),
      });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setSending(false);
    }
  };

  const choices = (legend: string, name: string, all: readonly (readonly [string, string, string])[], value: () => string, set: (value: string) => void) => (
    <fieldset>
      <legend class="mb-1 font-medium">{legend}</legend>
      <div class="overflow-hidden rounded-md border border-line divide-y divide-line">
        <For each={all}>{([key, title, about]) => (
          <label class="flex items-start gap-2.5 bg-surface px-2.5 py-1.5 hover:bg-hover has-checked:bg-accent-soft">
            <input type="radio" class="mt-1" name={`${id}-${name}`} value={key} checked={value() === key} onChange={() => set(key)} />
            <span><span class="font-medium">{title}</span> <code class="code text-muted">{key}</code><span class="block text-xs text-muted">{about}</span></span>
          </label>
        )}</For>
      </div>
    </fieldset>
  );

  return (
    <form class="mx-auto w-full max-w-3xl space-y-4 px-3 py-4 sm:px-5" onSubmit={(event) => void submit(event)} novalidate>
      <h1 class="text-base font-semibold">New session</h1>
      <div>
        <label class="mb-1 block font-medium" for={`${id}-prompt`}>What should the agent do?</label>
        <textarea ref={area} id={`${id}-prompt`} class="input min-h-28 text-[0.84375rem]" rows="5" value={prompt()} onInput={(event) => setPrompt(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void submit(); } }} />
      </div>
      <div>
        <label class="mb-1 block font-medium" for={`${id}-cwd`}>Directory</label>
        <input id={`${id}-cwd`} class="input font-mono text-xs" list={`${id}-dirs`} autocomplete="off" spellcheck={false} placeholder="where pilothouse serve was started" value={cwd()} onInput={(event) => setCwd(event.currentTarget.value)} />
        <datalist id={`${id}-dirs`}><For each={props.directories}>{(it) => <option value={it} />}</For></datalist>
      </div>
      <div class="grid gap-4 sm:grid-cols-2">
        {choices('When does it ask?', 'policy', POLICIES, policy, setPolicy)}
        {choices('What may its commands touch?', 'sandbox', SANDBOXES, sandbox, setSandbox)}
      </div>
      <Show when={sandbox() === 'danger-full-access' && policy() === 'never'}>
        <p class="rounded-md border border-warn-line bg-warn-soft px-2.5 py-1.5 text-warn">With this choice the agent can change or delete anything you can, and nobody is asked.</p>
      </Show>
      <div class="grid gap-4 sm:grid-cols-2">
        <div>
          <label class="mb-1 block font-medium" for={`${id}-model`}>Model</label>
          <input id={`${id}-model`} class="input" list={`${id}-models`} autocomplete="off" spellcheck={false} placeholder="the agent’s default" value={model()} onInput={(event) => setModel(event.currentTarget.value)} />
          <datalist id={`${id}-models`}><For each={props.models}>{(it) => <option value={it} />}</For></datalist>
        </div>
        <div>
          <label class="mb-1 block font-medium" for={`${id}-effort`}>Effort</label>
          <select id={`${id}-effort`} class="input" onChange={(event) => setEffort(event.currentTarget.value)}>
            <option value="">Default</option>
            <option value="config">as the agent is configured</option>
            <For each={['minimal', 'low', 'medium', 'high', 'xhigh']}>{(it) => <option value={it}>{it}</option>}</For>
          </select>
        </div>
      </div>
      <Show when={failure()}>{(words) => <p role="alert" class="rounded-md border border-bad-line bg-bad-soft px-2.5 py-1.5 text-bad">{words()}</p>}</Show>
      <button type="submit" class="btn btn-yes" disabled={sending()}><Show when={sending()} fallback="Start session"><Spinner />Starting…</Show></button>
    </form>
  );
}
