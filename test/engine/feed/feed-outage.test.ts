import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { composeEngine } from '#engine/engine-node';
import { Fault } from '#errors/fault';
import type { EngineCommand } from '#grpc/engine-messages';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import {
  bodyOf,
  CREATE,
  callOf,
  INSTANCE_ID,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';

const READ: EngineCommand = {
  ...{ kind: 'readFeed', cursor: undefined, from: 'oldest', limit: 10, types: 255 },
  ...{ isStream: false, waitMs: 0, isNewestFirst: false },
} as const;

/** An engine whose feeds cannot be read while `outage.isOn`. */
function newScene() {
  const clock = new ManualClock(START_MS);
  const metrics = createMetrics();
  const feeds = memoryFeedStore();
  const outage = { isOn: true };
  const { readHead } = feeds;
  feeds.readHead = async (id) => {
    if (outage.isOn) throw new Fault('service_unavailable', 'no store');
    return await readHead(id);
  };
  const instances = memoryInstanceStore();
  const stores = { instances, listings: memoryListingStore(), feeds, journal: memoryJournal() };
  const onBug = (error: unknown) => {
    throw error;
  };
  const config = { idleAgeMs: 900_000, memoryBytesMax: 64 * 1_024 * 1_024, checkpointAgeMs: 5_000 };
  const engine = composeEngine(config, { clock, metrics, onBug, ...stores });
  const ask = async (command: EngineCommand, instanceId = '') =>
    await engine.ask(callOf(command, { instanceId, callId: instanceId === '' ? 0 : 7 }));
  const metricOf = async (name: string) => {
    const { text } = await metrics.scrape();
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };
  return { clock, outage, engine, instances, ask, metricOf };
}

const outages = suite('while a feed cannot be reached');

outages('calls are answered, transitions wait, and the metrics show them', async () => {
  const { clock, ask, instances, metricOf } = newScene();
  await ask(CREATE, INSTANCE_ID);
  await pass(clock, 7_000, 500);
  assert.ok((await metricOf('transitions_unrecorded_bytes')) > 0);
  assert.is(await metricOf('transitions_unrecorded_seconds'), 7);
  assert.ok((await metricOf('transitions_record_failures_total')) > 1);
  // A stored instance would need no record, and a crash would lose its transition.
  assert.is(await instances.readHead(INSTANCE_ID), undefined);
});

outages('nothing is lost: afterwards the feed has the transitions once', async () => {
  const { clock, outage, ask, engine, instances, metricOf } = newScene();
  await ask(CREATE, INSTANCE_ID);
  await pass(clock, 3_000, 500);
  outage.isOn = false;
  await pass(clock, 4_000, 500);
  const { data } = bodyOf(await ask(READ));
  assert.equal(
    data.map(({ id, type }: { id: string; type: string }) => [id, type]),
    [[`${INSTANCE_ID}-1-0`, 'created']],
  );
  assert.is(await metricOf('transitions_unrecorded_bytes'), 0);
  await engine[Symbol.asyncDispose]();
  assert.is((await instances.readHead(INSTANCE_ID))?.version, 1);
});

outages.run();
