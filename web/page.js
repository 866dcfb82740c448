// Runs every test of the module, shows the outcome, and leaves it in `window.golayResult` for the runner:
// `{ ok, error?, tests: [{ name, family, ok, ms, detail? }] }`. `window.golayRunning` names what is under way.
//
//     test.html?depth=quick|switches|full     how much of the kernels' self test (src/selftest.rs)

const DEPTH = new URLSearchParams(location.search).get('depth') ?? 'switches';
const shown = document.getElementById('lines');
const tests = [];

function show(text, ok = true) {
  const line = document.createElement('div');
  line.textContent = text;
  line.className = ok ? '' : 'bad';
  shown.append(line);
}

function note(test) {
  tests.push(test);
  show(`${test.ok ? 'ok    ' : 'FAILED'} ${test.name} ${test.detail ?? ''}`, test.ok);
}

/** Shows a line here and in the runner's log. */
function say(text) {
  show(text);
  console.log(text);
}

/** One line for the tests from `from` on, by family: how many passed, and the time from their begin to their end. */
function summary(from) {
  const families = new Map();
  for (const t of tests.slice(from)) {
    const f = families.get(t.family) ?? { passed: 0, all: 0, ms: 0 };
    families.set(t.family, { passed: f.passed + t.ok, all: f.all + 1, ms: f.ms + t.ms });
  }
  for (const [name, f] of families) say(`${name}: ${f.passed} of ${f.all} passed, ${(f.ms / 1000).toFixed(1)} s`);
}

async function kernels(golay) {
  const from = tests.length;
  const began = performance.now();
  let caseBegan;
  await golay.self_test(DEPTH, (text) => {
    const line = JSON.parse(text);
    const now = performance.now();
    if (line.adapter) {
      say(`adapter: ${line.adapter}; ${line.cases} cases (${DEPTH}), listed in ${((now - began) / 1000).toFixed(1)} s`);
    } else if (line.begin) {
      window.golayRunning = line.begin;
      caseBegan = now;
    } else {
      note({ ...line, ms: now - caseBegan });
    }
  });
  if (tests.length === from) throw new Error('the self test has no cases');
  summary(from);
  say(`kernels: ${((performance.now() - began) / 1000).toFixed(1)} s in all`);
}

async function fetchBytes(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The i32 tensors of a safetensors file, by name. */
function readIds(bytes) {
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const ids = {};
  for (const [name, t] of Object.entries(header)) {
    if (t.dtype !== 'I32') continue;
    const [from, to] = t.data_offsets;
    ids[name] = [...new Int32Array(bytes.buffer.slice(8 + length + from, 8 + length + to))];
  }
  return ids;
}

/** Counts turns of the event loop while something runs, so that an engine that blocks it is found out. */
function watchTurns() {
  let turns = 0;
  let going = true;
  const turn = () => {
    turns++;
    if (going) setTimeout(turn);
  };
  setTimeout(turn);
  return () => {
    going = false;
    return turns;
  };
}

/** Greedy continuations of a tiny model against what an independent implementation computed. */
async function generate(golay, arch, prompts, count) {
  const folder = `/goldens/${arch}`;
  const names = ['config.json', 'model.safetensors'];
  const files = await Promise.all(names.map((n) => fetchBytes(`${folder}/${n}`)));
  const goldens = readIds(await fetchBytes(`${folder}/goldens.safetensors`));
  window.golayRunning = `load ${arch}`;
  const model = await golay.Model.load(names, files);
  for (const p of prompts) {
    const name = `${arch} ${p}: ${count} ids`;
    window.golayRunning = name;
    const began = performance.now();
    const turns = watchTurns();
    const streamed = [];
    const found = await model.greedy(new Uint32Array(goldens[`${p}.input_ids`]), count, (id) => streamed.push(id));
    const turned = turns();
    const wanted = goldens[`${p}.greedy_ids`].slice(0, count);
    const faults = [];
    if (wanted.length !== count || wanted.join() !== [...found].join()) {
      faults.push(`expected ${wanted.join()}, found ${found.join()}`);
    }
    if (streamed.join() !== [...found].join()) faults.push(`streamed ${streamed.join()}, returned ${found.join()}`);
    // A fast device may leave few turns; an engine that waits by itself leaves none.
    if (turned < 2) faults.push(`the event loop turned ${turned} times only`);
    const ms = performance.now() - began;
    note({ name, family: 'generate', ok: !faults.length, ms, detail: faults.join('; ') });
    say(`${name} in ${(ms / 1000).toFixed(1)} s, ${turned} turns of the event loop`);
  }
  model.free();
}

async function run() {
  if (!navigator.gpu) throw new Error('this browser has no WebGPU (navigator.gpu is undefined)');
  const golay = await import('./pkg/golay_web.js');
  await golay.default({ module_or_path: './pkg/golay_web_bg.wasm' });
  await generate(golay, 'llama', ['p1', 'p2'], 16);
  await kernels(golay);
}

shown.textContent = '';
let error;
try {
  await run();
} catch (e) {
  error = `${window.golayRunning ?? 'start'}: ${e?.message ?? e}`;
  show(error, false);
}
window.golayResult = { ok: !error && tests.length > 0 && tests.every((t) => t.ok), error, tests };
document.title = window.golayResult.ok ? 'golay: passed' : 'golay: failed';
