import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chained, chainStart } from '#audit/chain';
import type { StoredAuditLine } from '#storage/ports/audit';
import { ACCOUNT, entryOf, findingsOf, openTrail } from '#test/audit/entries';

const MONTH = '2026-01';
const LINES = 6;

const checks = suite('the verification of an audit trail');

async function openStore() {
  const { store, trail } = openTrail();
  for (let index = 0; index < LINES; index += 1) {
    await trail.append(ACCOUNT, entryOf({ target: `t${index}` }));
  }
  return store;
}

async function findings(change: (lines: StoredAuditLine[]) => StoredAuditLine[]) {
  return (await findingsOf(await openStore(), MONTH, change)).map(
    ({ seq, text }) => `${seq} ${text}`,
  );
}

checks('finds nothing in an unchanged trail', async () => {
  assert.equal(await findings((lines) => lines), []);
});

checks('finds a changed line, even with a recomputed hash', async () => {
  const changed = await findings((lines) =>
    lines.with(2, { ...at(lines, 2), text: at(lines, 2).text.replace('t2', 't9') }),
  );
  assert.equal(changed, ['3 changed since it was written']);
  const rehashed = await findings((lines) => {
    const { text } = at(lines, 2);
    const before = { month: MONTH, lines: 2, hash: at(lines, 1).hash };
    return lines.with(2, at(chained(before, [text.replace('t2', 't9')]), 0));
  });
  assert.equal(rehashed, ['4 changed since it was written']);
});

checks('finds missing lines in the middle, at the start and at the end', async () => {
  assert.equal(await findings((lines) => lines.toSpliced(2, 1)), ['3 missing']);
  assert.equal(await findings((lines) => lines.toSpliced(0, 2)), ['1 missing, up to 2']);
  assert.equal(await findings((lines) => lines.slice(0, -2)), ['5 missing, up to 6']);
});

checks('finds reordered lines', async () => {
  const swapped = await findings((lines) => lines.with(2, at(lines, 3)).with(3, at(lines, 2)));
  assert.ok(swapped.includes('3 missing') && swapped.includes('5 out of order'), String(swapped));
});

checks('finds a line of another account, and a recomputed chain', async () => {
  const start = chainStart(ACCOUNT, MONTH);
  const made = await findings((lines) =>
    chained(
      start,
      lines.map(({ text }) => text.replace('t2', 't9')),
    ),
  );
  assert.equal(made, [`${LINES} hash differs from the head`]);
  const foreign = await findings((lines) =>
    chained(
      start,
      lines.map(({ text }) => text.replace(ACCOUNT, 'another')),
    ),
  );
  assert.ok(foreign.includes('1 not of this trail'), String(foreign));
});

function at(lines: readonly StoredAuditLine[], index: number): StoredAuditLine {
  const line = lines[index];
  assert.ok(line);
  return line;
}

checks.run();
