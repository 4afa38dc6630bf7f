import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { DRIVEN_S, type Driven, runCrash } from '#test/clients/crash-run';
import { cassandraOrSkip, natsOrSkip } from '#test/support/real-servers';

/* The cluster has servers of its own, because its folder is its own; what is asked is whether there are any. */
const cassandra = cassandraOrSkip();
const nats = natsOrSkip();
const { suite } = cassandra.address === '' ? cassandra : nats;

/** A block of 100 ports that neither the defaults of the service nor other tests use. */
const PORTS = 23_500;

/** Calls whose outcome stays open or that are refused though the client could have tried again. Chosen. */
const FAILED_SHARE_MAX = 0.01;

const TYPESCRIPT = 'clients/typescript/test/driver.ts';
const LOAD = ['--seconds', `${DRIVEN_S}`, '--agents', '6', '--buffered', '6'];

/** Answers that are lost on their way beside what the kills cost: calls that must be sent again. */
const LOSSY = [...LOAD, '--lose', '0.03'];

const killed = suite('when engines and edges are killed under clients');

let folder = '';
let results = new Map<string, Driven>();

killed.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crash-'));
  const node = process.execPath;
  const drivers = [
    { name: 'typescript', command: node, args: [TYPESCRIPT, ...LOSSY] },
    { name: 'broken', command: node, args: [TYPESCRIPT, ...LOSSY, '--new-keys'] },
  ];
  results = await runCrash(folder, PORTS, drivers, () => undefined);
});

killed.after(async () => {
  await rm(folder, { recursive: true, force: true });
});

function driven(name: string): Driven {
  const found = results.get(name);
  if (found === undefined) throw new Error(`${name} has not run`);
  return found;
}

for (const name of ['typescript']) {
  killed(`${name}: the stores hold what callers were answered, and nothing else`, () => {
    const { check } = driven(name);
    assert.equal(check.findings.lines, []);
    assert.ok(check.observations > 500, `only ${check.observations} observations were checked`);
  });

  killed(`${name}: calls were sent again, and hardly any was given up`, () => {
    const { calls } = driven(name);
    const again = calls.filter(({ tries }) => tries > 1);
    assert.ok(again.length > 10, `only ${again.length} of ${calls.length} calls`);
    const isKeyed = calls.filter(({ key }) => key !== undefined);
    const failed = isKeyed.filter(({ outcome }) => outcome.kind !== 'acknowledged');
    const found = failed.map(({ outcome }) => JSON.stringify(outcome)).join('\n');
    assert.ok(failed.length <= FAILED_SHARE_MAX * isKeyed.length, found);
  });
}

killed('a client that takes a new key for each attempt is noticed', () => {
  const { findings } = driven('broken').check;
  assert.ok(findings.count > 0, 'nothing was noticed');
});

killed.run();
