// Loads the test page in headless Chromium with WebGPU, prints what it says, and exits 0 only when every test
// of the page passed and nothing went wrong around it.
//
//     CHROMIUM=/path/to/chromium GOLAY_WEB_TIMEOUT=seconds node test.mjs [quick|switches|full]

import { chromium } from 'playwright-core';
import { findChromium } from './chromium.mjs';
import { serve } from './serve.mjs';

// A software adapter is on Chromium's block list: without the first flag there is none at all.
const FLAGS = [
  '--enable-unsafe-webgpu',
  '--no-sandbox',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];

const seconds = Number(process.env.GOLAY_WEB_TIMEOUT ?? 600);
const executablePath = findChromium();
if (!executablePath) {
  console.error('web: no Chromium found; install it, or name one in CHROMIUM');
  process.exit(2);
}

const faults = [];

/** The benchmark page measures a few small kernels, and its report has what a native one has. */
async function bench(page) {
  const wanted = { families: ['gemv', 'norm'], formats: ['q4_0', 'f16'], shapes: [[64, 256]], rounds: 3 };
  await page.goto(`${server.url}/bench.html?auto=${encodeURIComponent(JSON.stringify(wanted))}`);
  await page.waitForFunction(() => window.golayReport || window.golayError, null, { timeout: seconds * 1000 });
  const error = await page.evaluate(() => window.golayError);
  if (error) throw new Error(`bench.html: ${error}`);
  const report = JSON.parse(await page.evaluate(() => window.golayReport));
  const good = report.kernels.filter((k) => !k.refused && k.seconds > 0 && k.of_read > 0);
  const rate = report.ceilings.read.per_second;
  if (report.schema !== 1 || report.host !== 'browser' || !(rate > 0) || !good.length || good.length < report.kernels.length) {
    throw new Error(`bench.html: ${JSON.stringify(report)}`);
  }
  const rows = await page.evaluate(() => document.querySelectorAll('#rows tbody tr').length);
  if (rows !== report.kernels.length) throw new Error(`bench.html shows ${rows} of ${report.kernels.length} rows`);
  console.log(`web: bench.html measured ${rows} kernels; read ceiling ${(rate / 1e9).toFixed(1)} GB/s`);
}
const server = await serve();
const browser = await chromium.launch({ executablePath, args: FLAGS });
let result;
try {
  const page = await browser.newPage();
  page.on('console', (message) => {
    console.log(`  ${message.text()}`);
    if (message.type() === 'error') faults.push(`on the console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`uncaught in the page: ${error.message}`));
  page.on('crash', () => faults.push('the page crashed'));
  await page.goto(`${server.url}/test.html${process.argv[2] ? `?depth=${process.argv[2]}` : ''}`);
  // A crashed or panicked page never sets the result: look at the faults as well.
  const end = Date.now() + seconds * 1000;
  while (!(result = await page.evaluate(() => window.golayResult)) && !faults.length) {
    if (Date.now() > end) {
      throw new Error(`no result after ${seconds} s, in ${await page.evaluate(() => window.golayRunning)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  if (!faults.length) await bench(page);
} catch (error) {
  faults.push(error.message);
} finally {
  await browser.close();
  server.close();
}

if (result?.error) faults.push(result.error);
const tests = result?.tests ?? [];
const failed = tests.filter((t) => !t.ok);
for (const t of failed) console.error(`web: FAILED ${t.name}: ${t.detail ?? ''}`);
for (const fault of faults) console.error(`web: ${fault}`);
console.log(`web: ${tests.length - failed.length} passed, ${failed.length + faults.length} failed`);
process.exit(result?.ok && !faults.length ? 0 : 1);
