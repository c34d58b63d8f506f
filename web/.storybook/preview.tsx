/** What stands around every story: the console's styles, a theme, a width, and the checks that each must pass. */

import addonA11y from '@storybook/addon-a11y';
import addonDocs from '@storybook/addon-docs';
import type { InputType } from 'storybook/internal/types';
import { createDecorator, createJSXDecorator, definePreview } from 'storybook-solidjs-vite';
import '../src/app.css';
import './preview.css';

const WIDTHS: Record<string, string> = { full: 'none', page: '56rem', card: '42rem', phone: '390px' };

function exact(it: InputType): InputType {
  const raw = (it.type as { raw?: string } | undefined)?.raw;
  const vague = ['array', 'enum', 'union', 'object'].includes(it.table?.type?.summary ?? '');
  return vague && raw ? { ...it, table: { ...it.table, type: { summary: raw } } } : it;
}

export default definePreview({
  addons: [addonDocs(), addonA11y()],
  tags: ['autodocs'],
  globalTypes: {
    theme: {
      description: 'Colours',
      toolbar: {
        title: 'Theme', icon: 'mirror', dynamicTitle: true,
        items: [{ value: 'system', title: 'As the system' }, { value: 'light', title: 'Light' }, { value: 'dark', title: 'Dark' }],
      },
    },
    width: {
      description: 'How wide the component may become',
      toolbar: {
        title: 'Width', icon: 'grow', dynamicTitle: true,
        items: [{ value: 'card', title: 'Card' }, { value: 'page', title: 'Page' }, { value: 'full', title: 'Full' }, { value: 'phone', title: 'Phone' }],
      },
    },
  },
  initialGlobals: { theme: 'system', width: 'card' },
  decorators: [
    // What is a landmark or fills the page by itself stands alone.
    createJSXDecorator((Story, { parameters }) => (parameters['frame'] === 'none' ? <div class="story-page"><Story /></div> : <main class="story"><Story /></main>)),
    // Not in the one above, which runs once only: themes and widths change while a story stands.
    createDecorator((Story, { globals }) => {
      const root = document.documentElement;
      if (globals['theme'] === 'light' || globals['theme'] === 'dark') root.dataset['theme'] = globals['theme'];
      else delete root.dataset['theme'];
      root.style.setProperty('--story-width', WIDTHS[String(globals['width'])] ?? 'none');
      return Story();
    }),
  ],
  // The docs say of what a list is, and which values there are, not just "array" and "enum".
  argTypesEnhancers: [({ argTypes }) => Object.fromEntries(Object.entries(argTypes).map(([name, it]) => [name, exact(it)]))],
  parameters: {
    layout: 'fullscreen',
    a11y: { test: 'error' },
    controls: { expanded: true },
    options: { storySort: { order: ['Asks', ['About'], 'Session', ['About'], 'Text', ['About'], 'Pages', ['About']] } },
    viewport: {
      options: {
        phone: { name: 'Phone', type: 'mobile', styles: { width: '390px', height: '844px' } },
        desk: { name: 'Desk', type: 'desktop', styles: { width: '1440px', height: '900px' } },
      },
    },
  },
});
