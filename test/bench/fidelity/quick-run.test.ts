import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runToEnd } from '#test/runner/program';

/** A quick run of `make fidelity`, with a real service and scripted models. */
const run = () => runToEnd(process.execPath, ['bench/fidelity/main.ts', '--quick']);

/** Cells of the first row of a model's table. */
const attemptsOf = (text: string, model: string): string[] =>
  new RegExp(`### ${model}\n[\\s\\S]*?(\\| attempts at .*)`).exec(text)?.[1]?.split(' | ') ?? [];

const fidelity = suite('a quick run of the harness');

fidelity('separates models that obey the contract from a model that ignores it', async () => {
  const { code, text } = await run();
  assert.is(code, 0, text);
  assert.match(text, /\| scripted-ignoring \| .* \| met \|/);
  assert.match(text, /\| scripted-half-obedient \| .* \| met \|/);
  assert.match(text, /\| scripted-obedient \| .* \| met \|/);
  const [, without = '', engine = ''] = attemptsOf(text, 'scripted-obedient');
  assert.is(engine, '0.0');
  assert.ok(Number(without) > 5, without);
});

fidelity.run();
