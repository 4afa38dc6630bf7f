import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { Activation } from '#actor-runtime/activation';
import { MeterKind } from '#limiter/actors';
import { memoryMeterStore } from '#storage/memory/meters';
import type { MeterRecord } from '#storage/ports/meters';
import { admission, custom, record, settlement, UNNOTICED } from '#test/limiter/limiter-fixture';
import { liveHeapBytes } from '#test/support/garbage';
import { ManualClock } from '#test/support/manual-clock';

/** Maximum memory of an active account, in bytes. Source: the limiter's budget (decision 259). */
const BYTES_MAX = 1_280;
const ACCOUNTS = 20_000;

const quietTurn = {
  offset: 1,
  version: 0,
  earlierVersion: undefined,
  dependOn: () => undefined,
  beforeAnswer: () => undefined,
};

const memory = suite('an account in use');

memory(
  'needs at most 1.25 KiB with its runtime entry, and its estimated size is off by at most half',
  async () => {
    const digests = Array.from({ length: ACCOUNTS }, (_, i) => digestOf(String(i)));
    const clock = new ManualClock();
    const kind = new MeterKind({
      accounts: {
        async find(id) {
          const { account, keys } = structuredClone(record(custom(60, 100), { id }));
          return {
            account,
            keys: keys.map((key) => ({ ...key, digest: `${digests[Number(id)]}` })),
          };
        },
      },
      meters: memoryMeterStore(),
      clock,
      events: UNNOTICED,
    });
    const places = new Map<string, object>();
    const before = liveHeapBytes();
    let estimated = 0;
    for (let i = 0; i < ACCOUNTS; i += 1) {
      const id = String(i).padStart(12, '0');
      const { state } = await kind.activate(id);
      const place = new Activation(id, 0, 0.5);
      Object.assign(place, { state });
      const turn = { ...quietTurn, wallMs: clock.wallMs(), monotonicMs: 0.5 };
      const commit = (record: MeterRecord) => state.take(record, 1);
      state.answer(admission(i, 1, digests[i] ?? ''), { ...turn, commit });
      state.answer(settlement(i, 1), { ...turn, commit });
      // Like a checkpoint two minutes later.
      kind.checkpoint(id, state).forget();
      estimated += kind.sizeOf(state);
      places.set(id, place);
    }
    const bytes = (liveHeapBytes() - before) / ACCOUNTS;
    assert.is(places.size, ACCOUNTS);
    assert.ok(bytes < BYTES_MAX, `${bytes} bytes each`);
    assert.ok(
      Math.abs(estimated / ACCOUNTS - bytes) < bytes / 2,
      `${estimated / ACCOUNTS} of ${bytes}`,
    );
  },
);

memory.run();
