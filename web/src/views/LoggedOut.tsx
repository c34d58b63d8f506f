/** Shown to a browser that is not logged in: how to get a link that works. */

export function LoggedOut(props: { refused: boolean }) {
  return (
    <main class="grid h-full place-items-center overflow-auto p-4">
      <div class="w-full max-w-md space-y-3 rounded-xl border border-line bg-surface p-6">
        <div class="flex items-center gap-2"><img src="/favicon.svg" alt="" width="22" height="22" /><h1 class="text-base font-semibold">{props.refused ? 'That link no longer works' : 'This browser is not logged in'}</h1></div>
        <p class="text-muted">{props.refused ? 'A login link works once, and only for a minute.' : 'The console opens with a link that works once.'} Get a new one in a terminal on the machine that runs Pilothouse:</p>
        <pre class="code rounded-md border border-line bg-sunken px-3 py-2 text-[0.8125rem] select-all">pilothouse login</pre>
        <p class="text-muted">Then open the address that it prints.</p>
      </div>
    </main>
  );
}
