// Runs every test of the module, shows the outcome, and leaves it in `window.golayResult` for the runner:
// `{ ok, error?, tests: [{ name, ok, detail? }] }`.

const shown = document.getElementById('lines');
const tests = [];

function show(text, ok = true) {
  const line = document.createElement('div');
  line.textContent = text;
  line.className = ok ? '' : 'bad';
  shown.append(line);
}

async function run() {
  if (!navigator.gpu) throw new Error('this browser has no WebGPU (navigator.gpu is undefined)');
  const golay = await import('./pkg/golay_web.js');
  await golay.default({ module_or_path: './pkg/golay_web_bg.wasm' });

  const answer = JSON.parse(await golay.self_test());
  if (answer.error) throw new Error(answer.error);
  show(`adapter: ${answer.adapter}`);
  for (const test of answer.tests) {
    tests.push(test);
    show(`${test.ok ? 'ok    ' : 'FAILED'} ${test.name} ${test.detail ?? ''}`, test.ok);
  }
}

shown.textContent = '';
let error;
try {
  await run();
} catch (e) {
  error = String(e?.message ?? e);
  show(error, false);
}
window.golayResult = { ok: !error && tests.length > 0 && tests.every((t) => t.ok), error, tests };
document.title = window.golayResult.ok ? 'golay: passed' : 'golay: failed';
