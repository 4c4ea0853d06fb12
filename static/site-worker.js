// The static site's worker: Python beside the page, which stays responsive whatever Python does.
// Each file of Pyodide is checked against the hash that the page was built with.
"use strict";
const stage = (text) => self.postMessage({ kind: "stage", text });

// Begins every download at once; returns a promise that breaks with the first of them. Pyodide
// alone would wait for ever for a file that does not come.
const fetchAhead = (files) => {
  const plain = self.fetch.bind(self);
  const begun = new Map();
  const get = async (url, integrity) => {
    const answer = await plain(url, integrity ? { integrity } : {}).catch(() => null);
    if (!answer) throw new Error(`${url} could not be fetched, or is not the file this page was made with`);
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    return answer;
  };
  for (const [url, integrity] of Object.entries(files)) begun.set(url, get(url, integrity));
  const broken = new Promise((_, reject) => begun.forEach((answer) => answer.catch(reject)));
  self.fetch = (input, init) => {
    const url = new URL(input.url ?? input, self.location).href;
    const answer = begun.get(url);
    begun.delete(url);
    return answer ?? plain(input, files[url] ? { ...init, integrity: files[url] } : init);
  };
  return broken;
};

// importScripts knows no integrity; fetch does.
const runScript = async (url) => {
  const own = URL.createObjectURL(new Blob([await (await self.fetch(url)).text()], { type: "text/javascript" }));
  self.importScripts(own);
  URL.revokeObjectURL(own);
};

const post = (kind, text, buffers) => {
  const arrays = buffers.toJs().map(([id, bytes]) => [id, bytes.buffer]);
  self.postMessage({ kind, text, buffers: arrays }, arrays.map(([, buffer]) => buffer));
};

const later = (work, ms) => {
  const kept = work.copy(); // the argument itself ends with the call
  // Promising: such work may suspend and let messages in, where the browser can do that.
  setTimeout(() => kept.callPromising().finally(() => kept.destroy()), ms);
};

const load = async ({ runtime, numpy, app }) => {
  stage("Python");
  await runScript(`${runtime}pyodide.js`);
  await runScript(`${runtime}pyodide.asm.js`);
  const pyodide = await self.loadPyodide({ indexURL: runtime });
  stage("its libraries");
  await pyodide.loadPackage(numpy, { messageCallback: () => {} });
  const packed = await (await self.fetch(app)).arrayBuffer();
  pyodide.unpackArchive(packed, "zip", { extractDir: "/app" });
  pyodide.runPython("import sys; sys.path.insert(0, '/app')");
  stage("the page’s own code");
  return pyodide.pyimport("widgets.site.browser").begin(post, later);
};

let browser = null;
const fail = (error) => {
  console.error(error);
  self.postMessage({ kind: "failed", text: String(error.message ?? error).trim().split("\n").pop() });
};
const handlers = {
  start: async (wish) => {
    const broken = fetchAhead({ ...wish.files, [wish.app]: "" });
    browser = await Promise.race([load(wish), broken]);
    self.postMessage({ kind: "ready" });
  },
  open: ({ text }) => browser.open(text),
  patch: ({ text }) => browser.receive(text),
};
self.onmessage = async ({ data }) => {
  try { await handlers[data.kind](data); } catch (error) { fail(error); }
};
