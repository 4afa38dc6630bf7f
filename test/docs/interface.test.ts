import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDPOINTS } from '#edge/endpoints/all';
import { FAULTS } from '#errors/error-codes';
import { httpOfReason, REASONS } from '#errors/error-reasons';

const text = readFileSync('docs/interface.md', 'utf8');

/** Table rows of a chapter, each as a list of cells. */
function rowsOf(part: string): string[][] {
  const [, after = ''] = text.split(`\n## ${part}`);
  const [chapter = ''] = after.split('\n## ');
  const lines = chapter.split('\n').filter((line) => line.startsWith('| '));
  return lines.map((line) => line.slice(2, -2).split(' | '));
}

const documented = suite('docs/interface.md');

documented('lists every endpoint with the scope and the traits in the code', () => {
  const rows = rowsOf('4. ').filter(([name]) => /^`[A-Z]+ \//.test(name ?? ''));
  for (const endpoint of ENDPOINTS) {
    const name = `\`${endpoint.method} ${endpoint.path.replace(':id', '{id}')}\``;
    const [, scope, cell = ''] = rows.find(([said]) => said === name) ?? [];
    assert.is(scope, endpoint.scope, name);
    const traits = cell.split(', ');
    assert.is(/^1 cycle/.test(cell), endpoint.isBilled, name);
    const { isKeyed, isGuarded, isTagged } = endpoint;
    const said = ['keyed', 'guarded', 'tagged'].map((trait) => traits.includes(trait));
    assert.equal(said, [isKeyed, isGuarded, isTagged], name);
  }
  assert.is(rows.length, ENDPOINTS.length);
});

documented('lists every error code with its statuses and reasons', () => {
  const rows = rowsOf('7. ').filter(([, statuses = '']) => /^\d{3}/.test(statuses));
  const said = rows.flatMap(([code = '', statuses = '', reasons = '']) => {
    const names = [...reasons.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    const own = names.filter((name) => name in REASONS);
    const each = own.length > 0 ? own : [''];
    const list = statuses.split(', ').map(Number);
    return each.map((reason, index) => `${code} ${list[index] ?? list[0]} ${reason}`);
  });
  const reasonRows = Object.entries(REASONS).map(([reason, { code }]) => {
    const status = httpOfReason(reason as keyof typeof REASONS) ?? FAULTS[code].http;
    return `\`${code}\` ${status} ${reason}`;
  });
  const withReasons = new Set<string>(Object.values(REASONS).map(({ code }) => code));
  const plain = Object.entries(FAULTS)
    .filter(([code]) => !withReasons.has(code))
    .map(([code, { http }]) => ({ code, line: `\`${code}\` ${http} ` }));
  for (const { code, line } of plain) {
    assert.ok(said.includes(line) || text.includes(`\`${code}\` (`), line);
  }
  for (const line of reasonRows) assert.ok(said.includes(line), line);
  const known = new Set([...reasonRows, ...plain.map(({ line }) => line)]);
  assert.equal(
    said.filter((line) => !known.has(line)),
    [],
  );
});

documented.run();
