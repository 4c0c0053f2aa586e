import { defineConfig } from 'vite';

// The program serves what lies here, and nothing else; no address but its own is ever asked.
export default defineConfig({
  base: './',
  build: {
    outDir: process.env.KARAKURI_PAGE_OUT ?? '../build/page',
    emptyOutDir: true,
    chunkSizeWarningLimit: 2000,
    sourcemap: false,
  },
});
