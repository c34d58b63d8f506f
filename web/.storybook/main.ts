/** Which stories there are and what reads them. Vite, SolidJS and Tailwind come from the console's own `vite.config.ts`. */

import type { StorybookConfig } from 'storybook-solidjs-vite';

// The planted faults that show that the tests can fail are no stories for people.
const planted = process.env.PILOTHOUSE_PLANTED === '1';

export default {
  framework: 'storybook-solidjs-vite',
  stories: planted ? ['../planted/*.stories.tsx'] : ['../src/stories/*.mdx', '../src/**/*.stories.tsx'],
  addons: ['@storybook/addon-docs', '@storybook/addon-a11y', '@storybook/addon-vitest'],
  features: { sidebarOnboardingChecklist: false },
  core: { disableTelemetry: true, disableWhatsNewNotifications: true, enableCrashReports: false },
} satisfies StorybookConfig;
