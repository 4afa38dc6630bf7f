import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ClusterPorts } from '#ctl/command';
import { runCtl } from '#ctl/ctl';
import { Deadline, SILENT_MS_MAX } from '#ctl/deadline';
import { ctl } from '#test/ctl/ctl-run';
import { ManualClock } from '#test/support/manual-clock';

/** A promise that never resolves, as from a hanging server. */
const never = <Result = never>() => new Promise<Result>(() => undefined);

/** Ports of a cluster whose stores never answer. */
function hangingCluster(clock: ManualClock): ClusterPorts {
  const hanging = { load: never, readHead: never, find: never };
  return { clock, shards: hanging, instances: hanging, accounts: hanging } as never;
}

/** Moves a clock second by second until `work` ends. Returns the result and the seconds. */
async function passing<Result>(clock: ManualClock, work: Promise<Result>) {
  let isDone = false;
  const watched = work.finally(() => {
    isDone = true;
  });
  let seconds = 0;
  for (; seconds <= 600; seconds += 1) {
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    if (isDone) break;
    clock.advance(1_000);
  }
  return { result: await watched, seconds };
}

const hanging = suite('ctl while a server hangs');

// Report 32: a command had no deadline, and waited forever for a hanging server.
hanging('exits with 1 and names the unanswered call', async () => {
  for (const [argv, call] of [
    [['nodes'], 'load'],
    [['verify', 'inst_1'], 'readHead'],
    [['usage', 'instances', 'Abcdefghijkl'], 'find'],
  ] as const) {
    const clock = new ManualClock();
    const ran = ctl(argv, { clock, cluster: hangingCluster(clock) });
    const { result } = await passing(clock, ran);
    assert.is(result.code, 1);
    assert.match(
      result.err,
      new RegExp(`^ctl: no progress for \\d+ s \\(waiting for "${call}"\\)`),
    );
  }
});

hanging('waits as long as --timeout allows', async () => {
  const clock = new ManualClock();
  const ran = ctl(['nodes', '--timeout', '7'], { clock, cluster: hangingCluster(clock) });
  assert.is((await passing(clock, ran)).seconds, 7);
});

/** `ctl` with custom functions to open and close a cluster. */
function onCluster(clock: ManualClock, openCluster: () => Promise<ClusterPorts & AsyncDisposable>) {
  const said: string[] = [];
  const print = (text: string) => void said.push(text);
  const code = runCtl(['users', 'setup-link', 'nobody'], {
    ...{ clock, out: print, err: print, write: async () => undefined, openCluster },
    adminUrl: 'http://127.0.0.1:1',
    ...{ openFile: () => never(), openPlaces: () => never() },
  });
  return { code, said };
}

// Report 32: opening and closing the stores had no bound.
hanging('exits if its stores cannot be opened, or cannot be closed', async () => {
  const clock = new ManualClock();
  const unopened = await passing(clock, onCluster(clock, () => never()).code);
  assert.equal([unopened.result, unopened.seconds], [1, 30]);
  const unclosed = onCluster(clock, async () => {
    return { ...hangingCluster(clock), [Symbol.asyncDispose]: () => never() };
  });
  const { result, seconds } = await passing(clock, unclosed.code);
  assert.equal(unclosed.said, ['ctl: there is no account "nobody"']);
  assert.equal([result, seconds], [4, 5], 'the exit code comes from the result');
});

const progress = suite('the deadline of a command');

progress('restarts with each answer, including answers of ports opened later', async () => {
  const clock = new ManualClock();
  const deadline = new Deadline(clock, SILENT_MS_MAX);
  const wait = () => new Promise<void>((resolve) => void clock.after(20_000, resolve));
  const port = deadline.watched({
    read: wait,
    openOther: async () => ({ ask: wait }),
    async *pages() {
      for (let page = 0; page < 3; page += 1) {
        await wait();
        yield page;
      }
    },
  });
  const work = async () => {
    await port.read();
    const other = await port.openOther();
    await other.ask();
    const pages: number[] = [];
    for await (const page of port.pages()) pages.push(page);
    return pages;
  };
  const { result, seconds } = await passing(clock, deadline.bound(work()));
  assert.equal([result, seconds], [[0, 1, 2], 100]);
});

progress('pauses during a prompt', async () => {
  const clock = new ManualClock();
  const deadline = new Deadline(clock, SILENT_MS_MAX);
  const asked = () =>
    new Promise<string>((resolve) => void clock.after(500_000, () => resolve('yes')));
  const { result } = await passing(clock, deadline.bound(deadline.paused(asked)));
  assert.is(result, 'yes');
});

progress('excludes time in which ctl itself was blocked', async () => {
  const clock = new ManualClock();
  let busyMs = 0;
  const lateClock = {
    ...{ wallMs: () => clock.wallMs(), monotonicMs: () => clock.monotonicMs() + busyMs },
    after: (delayMs: number, task: () => void) => clock.after(delayMs, task),
  };
  const deadline = new Deadline(lateClock, SILENT_MS_MAX);
  const { promise, resolve } = Promise.withResolvers<string>();
  const bound = deadline.bound(promise);
  busyMs = 300_000;
  clock.advance(SILENT_MS_MAX);
  await nextTurn();
  resolve('vacuumed');
  assert.is(await bound, 'vacuumed');
});

const pipes = suite('a pipe without a writer');

// Report 32: a command waited forever for a pipe in place of a file.
pipes('is refused as token file, audit trail and backup', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ctl-pipe-'));
  try {
    const pipe = join(folder, 'pipe');
    assert.is(spawnSync('mkfifo', [pipe]).status, 0);
    const { sqliteDataFile } = await import('#storage/sqlite/backup');
    const clock = new ManualClock();
    const file = sqliteDataFile(join(folder, 'own.db'), clock);
    const ports = { clock, file, interrupted: new AbortController().signal };
    for (const [argv, target] of [
      [['accounts', 'list'], { adminTokenFile: pipe }],
      [['audit', 'verify', 'a', '--file', pipe], {}],
      [['restore', pipe, '--yes'], { file: ports }],
    ] as const) {
      const { code, err } = await ctl(argv, target);
      assert.is(code, 1);
      assert.match(err, /^ctl: .*not a regular file/);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const group of [hanging, progress, pipes]) group.run();
