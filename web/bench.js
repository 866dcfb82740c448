// The benchmark page. `bench.html?auto={"families":["norm"]}` starts by itself with that selection (for tests) and leaves
// the report's text in `window.golayReport`, or what went wrong in `window.golayError`.

const FAMILIES = ['gemv', 'gemm', 'attention', 'norm', 'select'];
const $ = (id) => document.getElementById(id);
let golay;
let report;
let stopped;

for (const name of FAMILIES) {
  const label = document.createElement('label');
  const box = document.createElement('input');
  box.type = 'checkbox';
  box.name = name;
  box.checked = true;
  label.append(box, ` ${name}`);
  $('families').append(label);
}

function selection() {
  const words = (id) => $(id).value.split(',').map((w) => w.trim()).filter(Boolean);
  return {
    families: FAMILIES.filter((name) => $('form').elements[name].checked),
    formats: words('formats'),
    shapes: words('shapes').map((s) => s.split('x').map(Number)),
    all: $('all').checked,
  };
}

function show(r) {
  const body = $('rows').tBodies[0];
  body.textContent = '';
  for (const k of r.kernels) {
    const cells = k.refused
      ? [k.family, k.format, k.shape, k.variant, `refused: ${k.refused}`, '', '', '']
      : [
          k.family,
          k.format,
          k.shape,
          k.variant + (k.default ? ' *' : ''),
          (k.seconds * 1e6).toFixed(1),
          (k.bytes_per_second / 1e9).toFixed(2),
          `${(k.of_read * 100).toFixed(0)} %`,
          k.of_control ? k.of_control.toFixed(2) : '-',
        ];
    const row = body.insertRow();
    for (const text of cells) row.insertCell().textContent = text;
  }
  $('rows').hidden = false;
  const c = r.ceilings;
  const giga = (x) => (x ? (x.per_second / 1e9).toFixed(1) : '-');
  $('now').textContent =
    `${r.adapter.name || r.adapter.driver || 'this adapter'}: read ${giga(c.read)} GB/s, f32 ${giga(c.f32)} GFLOP/s, ` +
    `dot4 ${giga(c.dot4)} GOP/s, a dispatch ${(c.dispatch_s * 1e6).toFixed(1)} µs`;
}

async function measure(wanted, baseline) {
  stopped = false;
  $('error').textContent = '';
  for (const id of ['start', 'save', 'plots']) $(id).disabled = true;
  $('stop').disabled = false;
  $('bar').hidden = false;
  try {
    if (!navigator.gpu) throw new Error('this browser has no WebGPU (navigator.gpu is undefined)');
    if (!golay) {
      const module = await import('./pkg/golay_web.js');
      await module.default({ module_or_path: './pkg/golay_web_bg.wasm' });
      golay = module;
    }
    const text = await golay.bench(JSON.stringify(wanted), baseline, (line) => {
      const { now, done, all } = JSON.parse(line);
      $('bar').max = all;
      $('bar').value = done;
      if (now) $('now').textContent = `${now} (${done + 1} of ${all})`;
      return !stopped;
    });
    report = text;
    show(JSON.parse(text));
    $('save').disabled = $('plots').disabled = false;
    window.golayReport = text;
  } catch (e) {
    $('error').textContent = e?.message ?? String(e);
    window.golayError = $('error').textContent;
  } finally {
    $('start').disabled = false;
    $('stop').disabled = true;
    $('bar').hidden = true;
  }
}

function offer(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  if (name) {
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } else {
    window.open(url, '_blank', 'noopener');
  }
}

$('form').addEventListener('submit', (event) => {
  event.preventDefault();
  measure(selection(), $('baseline').checked);
});
$('stop').addEventListener('click', () => {
  stopped = true;
});
$('save').addEventListener('click', () => offer(report, 'application/json', 'golay-report.json'));
$('plots').addEventListener('click', () => offer(golay.compare(['this browser'], [report]), 'text/html'));

const auto = new URLSearchParams(location.search).get('auto');
if (auto) measure(JSON.parse(auto), false);
