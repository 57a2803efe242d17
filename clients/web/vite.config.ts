import { defineConfig } from "vite"

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  // `npm run dev` calls a service behind an edge: make web ARGS="--port 8080".
  server: { proxy: { "/durak.v1": "http://127.0.0.1:8080", "/sign-in.json": "http://127.0.0.1:8080" } },
})
