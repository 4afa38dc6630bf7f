import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '#test/simulation/simulate';
import { simulateSeed } from '#test/simulation/simulate-seed';

/** Seeds in this test. `many-seeds.test.ts` and `make simulate MINUTES=…` run more seeds. */
const SEEDS = 48;

/**
 * Maximum share of endpoints that miss events which a full list of failures may have dropped. The
 * checks cannot find a lost event there.
 */
const EXCUSED_MAX = 0.1;

const clusters = suite('simulated clusters');

clusters('repeat a run with the same seed, and differ with another seed', async () => {
  const requested = { loadMs: 6_000, webhooks: 2 };
  const first = await simulate(7, { requested });
  const again = await simulate(7, { requested });
  const other = await simulate(8, { requested });
  assert.equal(again, first);
  assert.is.not(other.digest, first.digest);
});

clusters('use neither the real clock nor real randomness', async () => {
  using _ = forbidden();
  await simulate(9, { requested: { loadMs: 6_000, webhooks: 2 } });
});

clusters('keep every guarantee under all faults', async () => {
  const totals = { acknowledged: 0, delivered: 0, endpoints: 0, excused: 0 };
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { acknowledged, delivered, endpoints, excused } = await simulateSeed(seed);
    totals.acknowledged += acknowledged;
    totals.delivered += delivered;
    totals.endpoints += endpoints;
    totals.excused += excused;
  }
  const { acknowledged, delivered, endpoints, excused } = totals;
  assert.ok(acknowledged > 0 && delivered > 0);
  assert.ok(excused <= endpoints * EXCUSED_MAX, `${excused} of ${endpoints} endpoints excused`);
  console.log(`${SEEDS} seeds, ${acknowledged} calls acknowledged, ${delivered} events delivered`);
});

clusters.run();

/** Makes the real clock and real randomness throw until disposed. */
function forbidden(): Disposable {
  const stack = new DisposableStack();
  const forbid = (owner: object, name: string): void => {
    const before = Object.getOwnPropertyDescriptor(owner, name);
    const value = (): never => {
      throw new Error(`${name} is not simulated: use the ports of the simulated process`);
    };
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
    stack.defer(() => {
      if (before === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, before);
    });
  };
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) forbid(globalThis, name);
  forbid(Date, 'now');
  forbid(Math, 'random');
  forbid(performance, 'now');
  return stack;
}
