// Serves the page and four mirrors: `node serve.mjs [PORT]`. The default is a free port.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";

const MIRRORS = {
  sleepy: { delay: 60_000, status: 200 },
  broken: { delay: 100, status: 503 },
  busy: { delay: 60_000, status: 200 },
  quick: { delay: 300, status: 200 },
};

const FILES = {
  "/": ["index.html", "text/html"],
  "/style.css": ["style.css", "text/css"],
  "/pkg/fetch.js": ["pkg/fetch.js", "text/javascript"],
  "/pkg/fetch_bg.wasm": ["pkg/fetch_bg.wasm", "application/wasm"],
};

/** The mirrors whose requests were aborted, in order. */
const aborted = [];

const server = createServer(async (request, response) => {
  response.setHeader("cache-control", "no-store");
  const path = new URL(request.url, "http://localhost").pathname;
  const mirror = path.match(/^\/mirror\/(\w+)$/)?.[1];
  if (Object.hasOwn(MIRRORS, mirror ?? "")) {
    answer(mirror, response);
  } else if (path === "/aborted") {
    response.end(JSON.stringify(aborted));
  } else if (Object.hasOwn(FILES, path)) {
    const [file, type] = FILES[path];
    const content = await readFile(new URL(file, import.meta.url)).catch(() => null);
    response.writeHead(content ? 200 : 404, { "content-type": type });
    response.end(content ?? `${file} is missing: build the page first`);
  } else {
    response.writeHead(404).end();
  }
});

/** Answers after the delay of the mirror, unless the client closes the connection before. */
function answer(mirror, response) {
  const { delay, status } = MIRRORS[mirror];
  const timeout = setTimeout(() => {
    response.writeHead(status, { "content-type": "text/plain" });
    response.end(status === 200 ? `the file, from ${mirror}` : "down");
  }, delay);
  response.on("close", () => {
    if (!response.writableEnded) {
      clearTimeout(timeout);
      aborted.push(mirror);
    }
  });
}

server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
