import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { DRIVEN_S, type Driven, type Driver, runCrash } from '#test/clients/crash-run';
import { makeEnvironment, pythonLack } from '#test/support/servers/python';
import { cassandraOrSkip, natsOrSkip, suiteUnless } from '#test/support/servers/real-servers';

/* The cluster starts its own servers. These calls only check that the programs are installed. */
const cassandra = cassandraOrSkip();
const nats = natsOrSkip();
const missing = cassandra.address === '' || nats.address === '';
const { suite } = cassandra.address === '' ? cassandra : nats;

/** First of 100 ports used neither by default nor by other tests. */
const PORTS = 23_500;

/** Maximum share of calls with an idempotency key that fail despite retries. */
const FAILED_SHARE_MAX = 0.01;

/** Options of all drivers. In addition to the kills, some answers are lost, to force retries. */
const LOSSY = ['--seconds', `${DRIVEN_S}`, '--lose', '0.03'];
const LOAD = [...LOSSY, '--agents', '5', '--buffered', '5', '--fleet', '5'];

const DRIVER = 'clients/typescript/test/driver.ts';

const TYPESCRIPT: Driver = {
  name: 'typescript',
  command: process.execPath,
  args: [DRIVER, ...LOAD],
};

const PYTHON: Driver = {
  name: 'python',
  command: 'clients/python/.venv/bin/python',
  args: ['clients/python/tests/support/driver.py', ...LOAD],
};

/** A broken client that sends a new key with each attempt. */
const BROKEN: Driver = {
  name: 'broken',
  command: process.execPath,
  args: [DRIVER, ...LOSSY, '--agents', '2', '--buffered', '2', '--fleet', '2', '--new-keys'],
};

const lack = pythonLack();
const isPythonThere = lack === undefined && !missing;
const killed = suite('when engines and edges are killed under the TypeScript client');
const python = isPythonThere
  ? suite('when engines and edges are killed under the Python client')
  : suiteUnless(lack ?? 'Cassandra or NATS is missing')(
      'when engines and edges are killed under the Python client',
    );
const broken = suite('a client that uses a new key for each attempt');

let folder = '';
let results = new Map<string, Driven>();

killed.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crash-'));
  if (isPythonThere) await makeEnvironment();
  const drivers = [TYPESCRIPT, BROKEN, ...(isPythonThere ? [PYTHON] : [])];
  results = await runCrash(folder, PORTS, drivers, () => undefined);
});

broken.after(async () => {
  await rm(folder, { recursive: true, force: true });
});

function driven({ name }: Driver): Driven {
  const found = results.get(name);
  if (found === undefined) throw new Error(`the driver ${name} did not run`);
  return found;
}

for (const [each, driver] of [
  [killed, TYPESCRIPT],
  [python, PYTHON],
] as const) {
  each('the stores hold exactly the acknowledged calls', () => {
    const { check } = driven(driver);
    assert.equal(check.findings.lines, []);
    assert.ok(check.observations > 500, `only ${check.observations} observations were checked`);
  });

  each('calls are retried, and almost none fails', () => {
    const { calls } = driven(driver);
    const again = calls.filter(({ tries }) => tries > 1);
    assert.ok(again.length > 10, `only ${again.length} of ${calls.length} calls`);
    const keyed = calls.filter(({ key }) => key !== undefined);
    const failed = keyed.filter(({ outcome }) => outcome.kind !== 'acknowledged');
    const found = failed.map(({ outcome }) => JSON.stringify(outcome)).join('\n');
    assert.ok(failed.length <= FAILED_SHARE_MAX * keyed.length, found);
  });
}

broken('causes findings in the check of the stores', () => {
  const { findings } = driven(BROKEN).check;
  assert.ok(findings.count > 0, 'the check found no fault');
});

killed.run();
python.run();
broken.run();
