import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '#test/simulation/simulate';

/** Seeds that are looked at, as far as the time goes. `make simulate MINUTES=…` looks at more. */
const SEEDS = 300;

/** Real time for them, in seconds. */
const SECONDS = 90;

/** Fewer than this in that time would prove little, even on a busy machine. */
const SEEDS_MIN = 40;

/** Load of a short run and of a long one, in virtual milliseconds: the long ones see checkpoints by age. */
const SHORT_MS = 9_000;
const LONG_MS = 32_000;

const clusters = suite('simulated clusters');

clusters('the same seed is the same history, another seed another', async () => {
  const requested = { loadMs: 6_000 };
  const first = await simulate(7, { requested });
  const again = await simulate(7, { requested });
  const other = await simulate(8, { requested });
  assert.equal(again, first);
  assert.is.not(other.digest, first.digest);
});

clusters('nothing in them looks at the clock or the chance of this machine', async () => {
  using _ = forbidden();
  await simulate(9, { requested: { loadMs: 6_000 } });
});

clusters('keep every promise, whatever fails', async () => {
  const endMs = performance.now() + SECONDS * 1_000;
  let seed = 0;
  let acknowledged = 0;
  while (seed < SEEDS && performance.now() < endMs) {
    seed += 1;
    const loadMs = seed % 6 === 0 ? LONG_MS : SHORT_MS;
    const result = await simulate(seed, { requested: { loadMs } });
    acknowledged += result.acknowledged;
  }
  console.log(`${seed} seeds, ${acknowledged} calls acknowledged`);
  assert.ok(seed >= SEEDS_MIN, `only ${seed} seeds in ${SECONDS} s`);
});

clusters.run();

/** Makes the machine's own time and chance unusable until disposed. */
function forbidden(): Disposable {
  const stack = new DisposableStack();
  const forbid = (owner: object, name: string): void => {
    const before = Object.getOwnPropertyDescriptor(owner, name);
    const value = (): never => {
      throw new Error(`${name} is not the world's`);
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
