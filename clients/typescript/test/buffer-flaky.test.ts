import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '../../../test/support/calls/caller.ts';
import { startStandalone } from '../../../test/support/servers/service.ts';
import { IdentityEngine, ObservationBuffer } from '../src/identity-engine.ts';
import { flakyProxy } from './support/flaky-proxy.ts';
import { randomOf } from './support/virtual-clock.ts';

const AGENTS = 12;
const TURNS = 250;

const flaky = suite('when a proxy cuts connections at random');

flaky(
  'a second buffer continues, and the service applies each observation once and in order',
  async () => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
    console.log(`SEED=${seed}`);
    await using service = await startStandalone();
    const { key } = await newCaller(service);
    await using proxy = await flakyProxy(new URL(service.api), randomOf(seed), {
      ...{ before: 0.1, after: 0.1 },
    });
    const direct = new IdentityEngine({ apiKey: key, baseUrl: service.api });
    const client = new IdentityEngine({ apiKey: key, baseUrl: proxy.baseUrl, attemptsMax: 2 });
    const ids: string[] = [];
    for (let agent = 0; agent < AGENTS; agent += 1) {
      ids.push((await direct.instances.create({ name: `agent ${agent}` })).data.id);
    }
    // Timestamps are in the past, so that no observation waits for the clock.
    const startMs = Date.now() - 3_600_000;
    const options = { batchMax: 20, instancesAtOnce: 8, pendingMax: 500 };
    let buffer = new ObservationBuffer(client, options);
    let acknowledged = 0;
    for (let turn = 0; turn < TURNS; turn += 1) {
      const timestamp = new Date(startMs + turn * 1_000).toISOString();
      for (const id of ids) {
        const context = { turn };
        await buffer.add(id, { mode_target: 'ORDER', signal_strength: 0.5, context, timestamp });
      }
      if (turn !== TURNS / 2) continue;
      const left = await buffer.close({ timeoutMs: 1 });
      acknowledged += left.acknowledged;
      buffer = new ObservationBuffer(client, options);
      buffer.restore(JSON.parse(JSON.stringify(left.unacknowledged)));
    }
    const end = await buffer.close({ timeoutMs: 60_000 });
    assert.equal([end.unacknowledged, end.rejectedCount], [[], 0]);
    assert.is(acknowledged + end.acknowledged, AGENTS * TURNS);
    for (const id of ids) {
      const turns: unknown[] = [];
      for await (const { context } of direct.instance(id).iterateHistory()) {
        turns.unshift(context['turn']);
      }
      assert.equal(
        turns,
        Array.from({ length: TURNS }, (_, turn) => turn),
      );
    }
    assert.ok(proxy.cuts() > 10, `${proxy.cuts()} connections were cut`);
  },
);

flaky.run();
