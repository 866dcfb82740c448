// One measurement of llama.cpp's Vulkan backend: node llama.mjs MODEL ROUND PROMPT_TOKENS (a multiple of 8)
// The prompt differs from round to round, since a repeated prefix would come out of its cache.
import { createRequire } from 'node:module';

const { loadModel } = createRequire(process.cwd() + '/')('@fugood/llama.node');
const [model, round, length] = process.argv.slice(2);
const words = ['the', 'of', 'and', 'to', 'in', 'is', 'that', 'for'];
const turned = words.map((_, i) => words[(i + Number(round)) % 8]).join(' ') + ' ';
const context = await loadModel({ model, n_ctx: 1024, n_gpu_layers: 99, lib_variant: 'vulkan', n_threads: 2 });
const run = async (prompt, n_predict) =>
  (await context.completion({ prompt, n_predict, temperature: 0, ignore_eos: true }, () => {})).timings;
// A prompt that no round repeats, so that the shaders are compiled.
await run('for that is in to and of the '.repeat(Math.min(8, length / 8)), 2);
const prefill = await run(turned.repeat(length / 8), 1);
const decode = await run('The capital of France is', 17);
console.log(JSON.stringify({
  prefill: prefill.prompt_n / prefill.prompt_ms * 1e3,
  decode: decode.predicted_n / decode.predicted_ms * 1e3,
}));
process.exit(0);
