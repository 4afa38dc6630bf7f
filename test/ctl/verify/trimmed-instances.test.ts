import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { trimPlan } from '#ctl/verify/trim-plan';
import type { EngineAnswer, EngineCommand } from '#grpc/engine-messages';
import type { InstanceStore } from '#storage/ports/instances';
import { type Cluster, ctlOn } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import {
  askerOf,
  changed,
  engineOn,
  exportOf,
  IDS,
  importOf,
  source,
  target,
} from '#test/ctl/export/export-fixture';
import { PAGE } from '#test/ctl/reader-questions';
import { ACCOUNT_ID, START_MS } from '#test/engine/instance/instance-fixture';

const QUESTIONS: readonly EngineCommand[] = [
  { kind: 'readSnapshot' },
  { kind: 'readHistory', ...PAGE },
  { kind: 'readDrift', ...PAGE, isPaged: true },
];

/**
 * Cut-off times that trim a part of the rows, all drift events, and all rows of an instance. The
 * fourth instance is not trimmed.
 */
const CUTOFFS: Readonly<Record<string, number>> = {
  [IDS.long]: START_MS + 1_200_001,
  [IDS.drifting]: START_MS + 60_000,
  [IDS.reset]: START_MS + 1_000_000,
};

/** Trims an instance in stores that no engine has opened. */
async function trim(cluster: Cluster, id: string, cutoffMs: number): Promise<void> {
  const { instances } = cluster.stores;
  const head = await instances.readHead(id);
  assert.ok(head);
  const floor = await trimPlan(instances, id, head, { cutoffMs, nowMs: cutoffMs });
  assert.ok(floor);
  await using engine = engineOn(cluster);
  await askerOf(engine)(id, { kind: 'trim', ...floor });
}

/** The account with trimmed instances. */
async function trimmedSource(): Promise<Cluster> {
  const from = await source();
  for (const [id, cutoffMs] of Object.entries(CUTOFFS)) await trim(from, id, cutoffMs);
  return from;
}

const text = ({ body }: EngineAnswer) => Buffer.from(body).toString();

const moved = suite('an account with trimmed instances');

moved('is exported and imported with the remaining rows, and verified from the floor', async () => {
  await using from = await trimmedSource();
  await using to = await target();
  const written = await exportOf(from);
  const { code, out, err } = await importOf(to, written);
  assert.is(code, 0, err);
  assert.match(out, /4 instances, 130 observations, \d+ drift/);
  await using engine = engineOn(from);
  const ask = askerOf(engine);
  for (const id of Object.values(IDS)) {
    for (const question of QUESTIONS) {
      assert.is(text(await to.ask(id, question)), text(await ask(id, question)), question.kind);
    }
    const { floor } = (await to.stores.instances.readHead(id)) ?? {};
    assert.equal(floor, (await from.stores.instances.readHead(id))?.floor);
  }
  assert.match(
    await ctlOn(to).text('verify', IDS.long),
    /The replay of 99 observations of generation 1 gives the head, bit for bit; .* trimmed rows/,
  );
  assert.match(await ctlOn(to).text('verify', IDS.drifting), /bit for bit; the replay starts/);
  const { trimmed } = await ctlOn(to).data('verify', IDS.long);
  assert.is(trimmed, 601);
});

moved('is refused by an import if the file has a wrong floor', async () => {
  await using from = await trimmedSource();
  const written = await exportOf(from);
  const changes: readonly [Record<string, unknown>, RegExp][] = [
    [{ trimmed_history: 4 }, /contradicts its rows: row 5 is missing/],
    [{ trimmed_history: undefined }, /trimmed_history: inst_\w+ has incomplete or wrong/],
    [{ trimmed_history: 9_999 }, /has incomplete or wrong/],
    [{ trimmed_drift: 1 }, /contradicts its rows/],
    [{ trimmed_model: 'AAAA' }, /model: 3 bytes, not 94 or 101 doubles/],
    [{ trimmed_cycle: 0 }, /trimmed_cycle/],
  ];
  for (const [change, expected] of changes) {
    await using to = await target();
    const { code, err } = await importOf(to, changedOf(written, IDS.drifting, change));
    assert.is(code, 1);
    assert.match(err, expected);
    assert.is(await to.stores.instances.readHead(IDS.drifting), undefined);
  }
});

/** An export with the line of one instance changed. */
function changedOf(written: string, id: string, change: object): string {
  return changed(written, `instance","id":"${id}`, (line) => ({ ...line, ...change }));
}

const meanwhile = suite('while an instance is trimmed');

/**
 * Stores that return the old head for some reads after the row deletion, as during a checkpoint.
 */
async function inBetween(from: Cluster, staleReads: number) {
  const { instances } = from.stores;
  const old = await instances.readHead(IDS.long);
  await trim(from, IDS.long, CUTOFFS[IDS.long] ?? 0);
  let reads = 0;
  const behind: InstanceStore = {
    ...instances,
    async readHead(id) {
      if (id !== IDS.long) return await instances.readHead(id);
      reads += 1;
      return reads <= staleReads ? old : await instances.readHead(id);
    },
  };
  return { ...from.ports, instances: behind };
}

meanwhile('ctl verify waits for the next stored head', async () => {
  await using from = await source();
  const cluster = await inBetween(from, 3);
  const { code, out } = await ctl(['verify', IDS.long], { cluster });
  assert.is(code, 0, out);
  assert.match(out, /99 observations .* trimmed rows/);
});

meanwhile('ctl export starts with the first remaining row', async () => {
  await using from = await source();
  const cluster = await inBetween(from, 3);
  const { code, written, err } = await ctl(['export', ACCOUNT_ID], { cluster });
  assert.is(code, 0, err);
  // The first line has the time of the export, and the last line the digest.
  const rowsOf = (of: string) => of.split('\n').slice(1, -2).join('\n');
  assert.ok(rowsOf(written) === rowsOf(await exportOf(from)), 'the rows are the same');
  assert.ok(written.includes('"trimmed_history":601'));
});

/** Output of `ctl verify` for an instance with permanently missing rows. */
async function verdictOn(from: Cluster, id: string, lacking: Partial<InstanceStore>) {
  // Every wait ends at once and advances the time.
  let nowMs = 0;
  const after = (delayMs: number, run: () => void) => {
    nowMs += delayMs;
    setImmediate(run);
    return { [Symbol.dispose]: () => undefined };
  };
  const clock = { ...from.ports.clock, monotonicMs: () => nowMs, after };
  const instances = { ...from.stores.instances, ...lacking };
  const { code, out } = await ctl(['verify', id], { cluster: { ...from.ports, instances, clock } });
  assert.is(code, 3);
  assert.ok(nowMs >= 45_000 && nowMs < 60_000, 'the command waits for a running trim');
  return out;
}

const lost = <Row extends { readonly ordinal: number }>(rows: readonly Row[]) =>
  rows.filter(({ ordinal }) => ordinal > 5);

meanwhile('ctl verify reports permanently missing observations', async () => {
  await using from = await source();
  const { readHistory } = from.stores.instances;
  const out = await verdictOn(from, IDS.long, {
    readHistory: async (...asked) => lost(await readHistory(...asked)),
  });
  assert.match(out, /row 1 is missing; row 6 follows/);
});

meanwhile('ctl verify reports permanently missing drift events', async () => {
  await using from = await source();
  const { readDrift, readHead } = from.stores.instances;
  const count = (await readHead(IDS.long))?.driftCount ?? 0;
  const out = await verdictOn(from, IDS.long, {
    readDrift: async (...asked) => lost(await readDrift(...asked)),
  });
  assert.match(out, new RegExp(`${count - 5} drift events are stored; the head counts ${count}$`));
});

for (const group of [moved, meanwhile]) group.run();
