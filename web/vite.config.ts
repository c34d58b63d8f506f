import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';
import solid from 'vite-plugin-solid';

// In development `vite` passes the API on to a running `pilothouse serve`, so that hot reload
// works against the real thing.
const backend = process.env.PILOTHOUSE_BACKEND ?? 'http://127.0.0.1:7457';

export default defineConfig({
  plugins: [solid(), tailwindcss()],
  server: { host: '127.0.0.1', port: 5173, strictPort: true, proxy: { '/api': backend } },
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    outDir: 'dist',
    // No data: URLs and no inline script: the page works under `default-src 'self'`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
