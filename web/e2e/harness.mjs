// Runs the real thing for the tests: Pilothouse, the pinned Codex with a scripted model, a browser.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const repository = path.dirname(web);
const programs = process.env.PILOTHOUSE_BIN_DIR ?? path.join(repository, 'target/debug');
export const shots = path.join(web, 'e2e/shots');

async function codex() {
  if (process.env.PILOTHOUSE_CODEX) return process.env.PILOTHOUSE_CODEX;
  const version = (await readFile(path.join(repository, 'codex-version.txt'), 'utf8')).trim();
  return path.join(repository, '.tools/codex', version, 'node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');
}

/** Starts a program and waits for its first line, or says why there is none. */
async function firstLine(name, args, options) {
  const child = spawn(path.join(programs, name), args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  let said = '';
  child.stderr.on('data', (it) => (said = (said + it).slice(-4000)));
  const lines = createInterface({ input: child.stdout });
  const failed = new Promise((_, no) => {
    child.once('error', no);
    child.once('exit', (code) => no(new Error(`${name} ended with ${code} before it was ready: ${said}`)));
  });
  failed.catch(() => undefined);
  const [line] = await Promise.race([once(lines, 'line'), failed]);
  return { child, line };
}

async function end(child) {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const kill = setTimeout(() => child.kill('SIGKILL'), 5000);
  await gone;
  clearTimeout(kill);
}

/** A Pilothouse of its own with a model that plays scripts, and a browser that is logged in. */
export async function start() {
  const home = await mkdtemp(path.join(tmpdir(), 'pilothouse-e2e-'));
  const project = path.join(home, 'project');
  await mkdir(project);
  const stop = [() => rm(home, { recursive: true, force: true, maxRetries: 5 })];
  const close = async () => {
    for (const it of stop.reverse()) await it();
  };
  try {
    const codexHome = path.join(home, 'codex');
    const model = await firstLine('scripted-model', ['--codex-home', codexHome], { cwd: home });
    stop.push(() => end(model.child));
    const env = {
      PATH: process.env.PATH, LANG: 'C.UTF-8', HOME: home, PILOTHOUSE_HOME: path.join(home, 'pilothouse'),
      PILOTHOUSE_CODEX: await codex(), CODEX_HOME: JSON.parse(model.line).codexHome, HOME: JSON.parse(model.line).codexHome, SCRIPTED_KEY: 'none',
    };
    const serve = async (listen) => {
      const server = await firstLine('pilothouse', ['serve', '--listen', listen], { cwd: project, env });
      stop.push(() => end(server.child));
      return { child: server.child, link: server.line.match(/http:\/\/\S+/)[0] };
    };
    let server = await serve('127.0.0.1:0');
    const base = new URL(server.link).origin;
    const browser = await launch();
    stop.push(() => browser.close());
    const first = await open(browser, base);
    await first.page.goto(server.link);
    await first.page.getByRole('navigation').waitFor();
    const storageState = await first.context.storageState();
    return {
      base, project, browser, first, close, link: server.link,
      /** Another browser of the same person. */
      another: (options) => open(browser, base, { storageState, ...options }),
      /** A link that logs in, as `pilothouse login` prints it. */
      freshLink: async () => {
        const login = await firstLine('pilothouse', ['login'], { cwd: project, env });
        return login.line.match(/http:\/\/\S+/)[0];
      },
      openGate: (name) => model.child.stdin.write(`open ${name}\n`),
      /** Stops the server, and brings it back at the same address when told to. */
      stopServer: () => end(server.child),
      startServer: async () => { server = await serve(new URL(base).host); },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function launch() {
  return chromium.launch({
    executablePath: process.env.PILOTHOUSE_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'],
  });
}

/** A page that keeps note of everything a clean page doesn't do. */
export async function open(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const bad = [];
  const watch = (page) => {
    page.on('pageerror', (error) => bad.push(`error: ${error}`));
    page.on('console', (message) => { if (message.type() === 'error' || /Content Security Policy/i.test(message.text())) bad.push(`console: ${message.text()}`); });
    page.on('dialog', (dialog) => { bad.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  };
  context.on('page', watch);
  context.on('request', (request) => { if (!request.url().startsWith(`${base}/`)) bad.push(`foreign request: ${request.url()}`); });
  const page = await context.newPage();
  return { context, page, bad };
}

/** Starts a session through the form, as a person does; the script says what the model will do. */
export async function newSession(page, words, script, { directory, policy = 'untrusted' } = {}) {
  await page.getByRole('link', { name: 'New session' }).click();
  await page.getByLabel('What should the agent do?').fill(`${words}\nSCRIPT:${JSON.stringify(script)}`);
  if (directory) await page.getByLabel('Directory', { exact: true }).fill(directory);
  await page.getByRole('radio', { name: new RegExp(`\\b${policy}\\b`) }).check();
  await page.getByRole('button', { name: 'Start session' }).click();
  await page.waitForURL(/\/sessions\/sess_[0-9a-f]{32}$/);
  return page.url().split('/').at(-1);
}

export const pendingCard = (page) => page.locator('main [data-ask][data-state="pending"]');

/** Waits for the last turn's end and returns how it ended. */
/** Steps of a model that says something, waits for a gate in the middle of it, and says the rest. */
export function streaming(id, before, gate, after) {
  const item = { type: 'message', role: 'assistant', id: `msg_${id.replaceAll(' ', '_')}`, content: [] };
  const delta = (text) => ({ raw: { type: 'response.output_text.delta', item_id: item.id, delta: text } });
  const content = [{ type: 'output_text', text: before + after }];
  return [
    { raw: { type: 'response.output_item.added', item } },
    delta(before), { gate }, delta(after),
    { item: { ...item, content } },
  ];
}

export async function turnEnd(page, n = 1) {
  const ends = page.locator('[data-turn-status]');
  await ends.nth(n - 1).waitFor();
  return ends.nth(n - 1).getAttribute('data-turn-status');
}

/** Turns the page to a scheme and a size, and waits for what fades from one colour to another. */
async function turn(page, colorScheme, viewport) {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport);
  await page.evaluate(() => Promise.all(document.getAnimations().filter((it) => it instanceof CSSTransition).map((it) => it.finished.catch(() => undefined))));
}

/** The page as a person sees it, in both schemes and at both ends of the widths. */
export async function photograph(page, name) {
  await mkdir(shots, { recursive: true });
  for (const colorScheme of ['light', 'dark']) {
    for (const [size, viewport] of [['wide', { width: 1360, height: 900 }], ['phone', { width: 360, height: 760 }]]) {
      await turn(page, colorScheme, viewport);
      await page.screenshot({ path: path.join(shots, `${name}-${colorScheme}-${size}.png`) });
    }
  }
  await turn(page, 'light', { width: 1280, height: 860 });
}

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** What an accessibility checker finds wrong, a line each, at both schemes and widths. */
export async function inaccessible(page) {
  const found = new Set();
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 360]) {
      await turn(page, colorScheme, { width, height: 860 });
      const { violations } = await page.evaluate(`(() => { ${axe}; return axe.run(document, { resultTypes: ['violations'] }); })()`);
      for (const it of violations) found.add(`${it.id} at ${width} ${colorScheme}: ${it.nodes.map((node) => node.target.join(' ')).join(', ')}`);
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.add(`scrolls sideways at ${width}`);
    }
  }
  await turn(page, 'light', { width: 1280, height: 860 });
  return [...found];
}
