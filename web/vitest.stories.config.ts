/** Every story in Chromium: it renders, its play function succeeds, and nothing about it is inaccessible. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { storybookTest } from '@storybook/addon-vitest/vitest-plugin';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const here = path.dirname(fileURLToPath(import.meta.url));
const planted = process.env.PILOTHOUSE_PLANTED === '1';

const chromium = () => playwright({
  launchOptions: {
    executablePath: process.env.PILOTHOUSE_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'],
  },
});

const project = (name: string, initialGlobals: Record<string, unknown>) => ({
  extends: './vite.config.ts' as const,
  plugins: [storybookTest({ configDir: path.join(here, '.storybook'), initialGlobals })],
  test: {
    name,
    // Stories don't lean on a fresh page: each is drawn into a root of its own and torn down after.
    isolate: false,
    setupFiles: ['src/stories/docs.setup.ts'],
    browser: { enabled: true, headless: true, screenshotFailures: false, provider: chromium(), api: { host: '127.0.0.1' }, instances: [{ browser: 'chromium' as const }] },
  },
});

const light = project('light', { theme: 'light' });
const darkPhone = project('dark-phone', { theme: 'dark', viewport: { value: 'phone', isRotated: false } });

export default defineConfig({ test: { projects: planted ? [light] : [light, darkPhone] } });
