// Starts the page that measures. Where WebGPU's calls are to be counted (the page's window has __gpu, or the address says ?trace), the
// worker is started through counting-worker.js, and the counts it sends before each of its messages are written into window.__gpu.
import init from './bench.js';

if (new URLSearchParams(location.search).has('trace')) window.__gpu ??= {};
if (window.__gpu) {
  for (const meta of document.querySelectorAll('meta[name^=worker-]')) meta.content = `counting-worker.js?${encodeURIComponent(meta.content)}`;
  window.Worker = class extends Worker {
    constructor(...all) {
      super(...all);
      // Heard first, since it listens first.
      this.addEventListener('message', (event) => {
        if (!event.data?.gpuCalls) return;
        Object.assign(window.__gpu, event.data.gpuCalls);
        event.stopImmediatePropagation();
      });
    }
  };
}
await init();
