import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addressIn, runMain } from '#test/support/process-run';

const run = promisify(execFile);

/** A command block, and the answer that the document shows, if any. */
type Step = { readonly commands: string; readonly answer: string | undefined };

/** Command blocks of a document in order, without blocks that use make, except `make agent`. */
function stepsOf(document: string): Step[] {
  const text = readFileSync(document, 'utf8');
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(([, language, code = ''], index) => {
    if (language !== 'sh' || /make (?!agent)/.test(code)) return [];
    const [, next, answer] = blocks[index + 1] ?? [];
    return [{ commands: code, answer: next === '' ? answer : undefined }];
  });
}

/** Parts of an answer that differ between runs, and omissions in the document. */
const DYNAMIC =
  /…|\s+|(?:inst|snap|key|req)_[0-9a-f]+|20(?!25)\d\d-\d\d-\d\dT[\d:.]+Z|(?<=reset"?: ?)\d+/g;

/** Pattern for an answer. */
function patternOf(answer: string): RegExp {
  let pattern = '';
  let end = 0;
  for (const { 0: said, index } of answer.matchAll(DYNAMIC)) {
    pattern += RegExp.escape(answer.slice(end, index));
    end = index + said.length;
    if (said === '…') pattern += '[\\s\\S]*?';
    else if (/^\s/.test(said)) pattern += '\\s*';
    else pattern += '[\\w.:-]+';
  }
  return new RegExp(`^\\s*${pattern}${RegExp.escape(answer.slice(end))}\\s*$`);
}

/** Runs all steps in one shell against a new service. Resolves to the output of each step. */
async function played(steps: readonly Step[]): Promise<string[]> {
  const service = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' });
  await service.says(/Ctrl-C/);
  const said = service.stdout();
  const key = /svc_sk_\w+/.exec(said)?.[0] ?? '';
  const api = /http:\S+\/v1/.exec(said)?.[0] ?? addressIn(service, 'api');
  const script = steps.map(({ commands }) => `echo '@@@@'\n${commands}`).join('\n');
  const real = script.replace('http://127.0.0.1:8000/v1', api).replace('svc_sk_…', key);
  // Without these variables, make does not print that it was started by `make test`.
  const env = { ...process.env, MAKELEVEL: undefined, MAKEFLAGS: undefined };
  const { stdout } = await run('bash', ['-c', real], { env, maxBuffer: 16 * 1_024 * 1_024 });
  const ended = once(service.child, 'close');
  service.child.kill('SIGTERM');
  await ended;
  return stdout.split('@@@@\n').slice(1);
}

const guide = suite('the commands shown in documents');

for (const [document, count] of [
  ['README.md', 2],
  ['docs/guide.md', 11],
] as const) {
  guide(`in ${document} give the shown answers`, async () => {
    const steps = stepsOf(document);
    const shown = steps.filter(({ answer }) => answer !== undefined);
    assert.ok(shown.length >= count, `${shown.length}`);
    const answers = await played(steps);
    for (const [index, { commands, answer }] of steps.entries()) {
      if (answer === undefined) continue;
      assert.match(answers[index] ?? '', patternOf(answer), `${commands}\n${answers[index]}`);
    }
  });
}

guide('have answers that are compared exactly, except for values that differ between runs', () => {
  assert.match('{"a":1,"id":"inst_0123"}', patternOf('{"a":1,\n "id":"inst_ff"}'));
  assert.match('{"a":1,"b":2,"c":3}', patternOf('{"a":1,…,"c":3}'));
  assert.not.match('{"a":1,"b":2,"c":3}', patternOf('{"a":1,…,"c":4}'));
  assert.not.match('{"a":12}', patternOf('{"a":1}'));
});

guide.run();
