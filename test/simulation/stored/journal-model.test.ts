import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CorruptJournal } from '#actor-runtime/record-codec';
import * as flaws from '#test/simulation/faults/journal-flaws';
import { journalHistory } from '#test/simulation/stored/journal-model';
import { Violation } from '#test/simulation/stored/version-index';

/** Number of histories without a flaw. */
const HISTORIES = 1_500;

/** Maximum number of histories until a flaw is detected. */
const HISTORIES_MAX = 3_000;

const journals = suite('a journal that is sealed during writes on three replicas');

journals('loses no acknowledged record and gives every node the same tail', async () => {
  let acknowledged = 0;
  let fenced = 0;
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const history = await journalHistory(seed);
    acknowledged += history.acknowledged;
    fenced += Number(history.isFenced);
  }
  console.log(`${HISTORIES} histories, ${acknowledged} acknowledged appends, ${fenced} fenced`);
  assert.ok(acknowledged > 2 * HISTORIES && fenced > HISTORIES / 2);
});

for (const [name, flaw] of Object.entries(flaws)) {
  journals(`violates its contract with the flaw ${name}`, async () => {
    for (let seed = 1; seed <= HISTORIES_MAX; seed += 1) {
      const found = await findingOf(seed, flaw);
      if (found === undefined) continue;
      console.log(`${name}: ${seed} histories: ${found}`);
      return;
    }
    assert.unreachable(`no check detects ${name} within ${HISTORIES_MAX} histories`);
  });
}

journals.run();

async function findingOf(seed: number, flaw: flaws.JournalFlaw): Promise<string | undefined> {
  try {
    await journalHistory(seed, flaw);
    return undefined;
  } catch (error) {
    const isFound = error instanceof Violation || error instanceof CorruptJournal;
    if (!isFound) throw error;
    return error.message;
  }
}
