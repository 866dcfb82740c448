// A picture of a page: node shot.mjs FILE.html OUT.png [WIDTH [HEIGHT]]. docs/compare.png is made with it.
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { findChromium } from './chromium.mjs';

const [file, out, width = '1100', height = '1400'] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) } });
await page.goto(pathToFileURL(file).href);
await page.screenshot({ path: out });
await browser.close();
