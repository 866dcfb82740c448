// A small static file server for the test page, on 127.0.0.1 only (WebGPU needs a secure context, and
// that is one). It adds the headers that make the page cross-origin isolated.
//
//     node serve.mjs [port]      serve and say where

import http from 'node:http';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

// URL prefix -> folders; of the first prefix that matches, the first folder that has the file. What exists nowhere
// is a 404, which the page must handle.
const FOLDERS = [
  ['/pkg/', [path.join(root, 'target/web/pkg')]],
  [
    '/goldens/',
    [
      path.join(root, 'tests/data/goldens'),
      path.join(process.env.GOLAY_SHARED || path.join(root, '../shared'), 'goldens'),
    ],
  ],
  ['/', [here]],
];

/** Starts the server; resolves to `{ url, close }`. Port 0 takes any free one. */
export function serve(port = 0) {
  const server = http.createServer((request, response) => {
    const answer = (status, headers, body) => {
      response.writeHead(status, {
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Embedder-Policy': 'require-corp',
        'Cache-Control': 'no-store',
        ...headers,
      });
      response.end(body);
    };
    let name;
    try {
      name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    } catch {
      return answer(400, {}, 'bad address');
    }
    if (name === '/favicon.ico') return answer(204, {});
    if (name === '/') name = '/test.html';
    const [prefix, folders] = FOLDERS.find(([p]) => name.startsWith(p));
    const inside = (folder) => path.join(folder, name.slice(prefix.length)).startsWith(folder + path.sep);
    if (!folders.every(inside)) return answer(403, {}, 'outside');
    const files = folders.map((folder) => path.join(folder, name.slice(prefix.length)));
    fs.readFile(files.find((f) => fs.existsSync(f)) ?? files[0], (error, data) => {
      if (error) return answer(404, {}, 'not found');
      const type = TYPES[path.extname(name)] ?? 'application/octet-stream';
      answer(200, { 'Content-Type': type, 'Content-Length': data.length }, data);
    });
  });
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const close = () => {
        server.closeAllConnections();
        server.close();
      };
      resolve({ url: `http://127.0.0.1:${server.address().port}`, close });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve(Number(process.argv[2] ?? 8017));
  console.log(`${url}/test.html  (Ctrl-C stops)`);
}
