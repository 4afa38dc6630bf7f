import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { composeEngine } from '#engine/engine-node';
import type { CourierOutcome, OutgoingMessage } from '#grpc/courier-messages';
import type { EngineCommand, WebhookCommand } from '#grpc/engine-messages';
import { TRANSITIONS } from '#identity/transitions';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import {
  ACCOUNT_ID,
  bodyOf,
  CREATE,
  callOf,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { memoryTrail } from '#test/support/memory-trail';
import { pass } from '#test/support/passing';
import { scrapedOf } from '#test/support/scraped';

const ID = 'whk_0123456789abcdef';
const DELIVERED: CourierOutcome = { kind: 'answered', status: 204, retryAfter: undefined };

/** An engine whose courier answers as a test says. */
function newScene(answer: (message: OutgoingMessage) => CourierOutcome | Promise<never>) {
  const clock = new ManualClock(START_MS);
  const sent: OutgoingMessage[] = [];
  const courier = {
    ask: async (message: OutgoingMessage) => {
      sent.push(message);
      return answer(message);
    },
  };
  const onBug = (error: unknown) => {
    throw error;
  };
  const trail = memoryTrail(clock);
  const stores = {
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    feeds: memoryFeedStore(),
    journal: memoryJournal(),
  };
  const config = { idleAgeMs: 30_000, memoryBytesMax: 64 * 1_024 * 1_024 };
  const metrics = createMetrics();
  const engine = composeEngine(config, { clock, metrics, onBug, ...stores, courier, trail });
  let calls = 0;
  const ask = async (command: EngineCommand, instanceId = '') => {
    calls += 1;
    return bodyOf(await engine.ask(callOf(command, { instanceId, callId: calls })));
  };
  const webhook = (fields: Partial<WebhookCommand>) =>
    ask({
      ...{ kind: 'webhook', action: 'list', endpointId: ID, settings: {}, positions: [] },
      ...fields,
    });
  const create = async (sealedSecret: string, endpointId = ID) => {
    const settings = {
      url: 'https://hooks.example/',
      types: 1 << TRANSITIONS.indexOf('created'),
      sealedSecret,
    };
    await webhook({ action: 'create', endpointId, settings });
  };
  const change = async (passMs = 3_000) => {
    const id = `inst_${String(calls).padStart(16, '0')}`;
    await ask(CREATE, id);
    await pass(clock, passMs);
  };
  return { clock, sent, trail, metrics, webhook, create, change };
}

const deliverers = suite('the endpoints of an engine');

deliverers('are signed with secrets that the courier sealed again', async () => {
  const scene = newScene(({ sealedSecrets }) => {
    return sealedSecrets[0] === 'new' ? DELIVERED : { ...DELIVERED, resealed: ['new'] };
  });
  await scene.create('former');
  await scene.change();
  await scene.change();
  assert.equal(
    scene.sent.map(({ sealedSecrets }) => sealedSecrets),
    [['former'], ['new']],
  );
});

deliverers('do not wait for an endpoint that hangs', async () => {
  const hanging = 'whk_ffffffffffffffff';
  const never = new Promise<never>(() => undefined);
  const scene = newScene(({ endpointId }) => (endpointId === hanging ? never : DELIVERED));
  await scene.create('secret', hanging);
  await scene.create('secret');
  for (let count = 1; count <= 20; count += 1) {
    await scene.change(100);
    const delivered = scene.sent.filter(({ endpointId }) => endpointId === ID);
    assert.is(delivered.length, count);
  }
});

deliverers('are paused with two lines in the audit trail of the account', async () => {
  const scene = newScene(() => ({ kind: 'answered', status: 410, retryAfter: undefined }));
  await scene.create('secret');
  await scene.change();
  const { data } = await scene.webhook({ action: 'list' });
  assert.is(data[0].paused, 'removed');
  const { lines } = await scene.trail.page(ACCOUNT_ID, { limit: 10 });
  assert.equal(
    lines.map(({ action, outcome, target }) => [action, outcome, target]),
    [
      ['webhook.pause', 'done', ID],
      ['webhook.pause', 'begun', ID],
    ],
  );
});

// A sum of all outcomes would hide an endpoint that refuses everything.
deliverers('are counted by state, and attempts by outcome', async () => {
  const scene = newScene(({ endpointId }) =>
    endpointId === ID ? DELIVERED : { kind: 'failed', failure: 'timeout' },
  );
  await scene.create('secret');
  await scene.create('secret', 'whk_ffffffffffffffff');
  await scene.change();
  assert.equal(await scrapedOf(scene.metrics, /^webhook_/), {
    'webhook_attempts_total{outcome="delivered"}': 1,
    'webhook_attempts_total{outcome="failed"}': 1,
    'webhook_endpoints{state="active"}': 1,
    'webhook_endpoints{state="failing"}': 1,
  });
});

deliverers.run();
