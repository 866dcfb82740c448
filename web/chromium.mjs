// Where Chromium is on this machine: `$CHROMIUM`, or one of the usual places. `node chromium.mjs` prints it.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const PLACES = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** The path of the browser, or undefined. */
export const findChromium = () => PLACES.find((p) => p && fs.existsSync(p));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = findChromium();
  if (found) console.log(found);
  process.exit(found ? 0 : 1);
}
