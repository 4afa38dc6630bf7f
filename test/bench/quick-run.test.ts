import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findWrk } from '#bench/processes/tool-path';
import { runToEnd } from '#test/runner/program';

const lack = await findWrk().then(
  () => undefined,
  (error: Error) => error.message,
);
const quick = suite('a quick run of the benchmark');
if (lack !== undefined) console.log(`skipped because ${lack}`);
else {
  // Bug: a program of the benchmark no longer starts, or its answers are no longer read.
  quick('measures the service and the reference, and keeps the results', async () => {
    const before = readFileSync('bench/results.json', 'utf8');
    const args = ['bench/main.ts', '--quick', '--only', 'service,starts'];
    const { code, text } = await runToEnd(process.execPath, args);
    assert.is(code, 0, text);
    for (const row of ['c', 's', 'sk', 'p', 'pk']) {
      const rate = new RegExp(`^\\| ${row} \\| [^|]+ \\| ([\\d,]+) \\|`, 'm').exec(text)?.[1] ?? '';
      assert.ok(Number(rate.replaceAll(',', '')) > 0, `${row}: ${text}`);
    }
    assert.match(text, /to first answer \| ≤ 1,500 ms \| \d+ ms/);
    assert.is(readFileSync('bench/results.json', 'utf8'), before);
  });
  quick.run();
}
