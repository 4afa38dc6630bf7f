import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  BufferClosedError,
  type CloseResult,
  IdentityEngine,
  type Observation,
  ObservationBuffer,
  type RejectedObservation,
  type ThrottledObservation,
} from '../src/identity-engine.ts';
import { ModelServer } from './support/model-server.ts';
import { randomOf, VirtualClock } from './support/virtual-clock.ts';

/** One addition: instance, delay after the previous addition, and properties of the observation. */
const addition = fc.record({
  instance: fc.nat({ max: 3 }),
  gapMs: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.nat({ max: 900 }) },
    { weight: 1, arbitrary: fc.nat({ max: 8_000 }) },
  ),
  /**
   * Signal strength. The service refuses an observation above 1. Above 2, the refusal does not name
   * the observation.
   */
  strength: fc.oneof(
    { weight: 30, arbitrary: fc.constant(0.5) },
    { weight: 1, arbitrary: fc.constantFrom(2, 3) },
  ),
  /** Whether the observation is added without waiting for the previous `add` call. */
  isSideBySide: fc.boolean(),
  /** Change of the wall clock before the addition, in milliseconds. */
  stepMs: fc.oneof(
    { weight: 60, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(-60_000, 60_000, -400_000, 400_000) },
  ),
  /** Caller's timestamp relative to the time of adding, in milliseconds; undefined for none. */
  ownMs: fc.option(fc.oneof(fc.integer({ min: -20_000, max: 20_000 }), fc.constant(-3_600_000)), {
    nil: undefined,
    freq: 5,
  }),
});

const schedule = fc.record({
  seed: fc.integer(),
  additions: fc.array(addition, { minLength: 1, maxLength: 400, size: 'max' }),
  faultRate: fc.constantFrom(0, 0.1, 0.5, 0.9),
  instances: fc.constantFrom(1, 4),
  skewMs: fc.constantFrom(0, 0, -90_000, 90_000),
  restartsEveryMs: fc.constantFrom(0, 300, 3_000),
  closeTimeoutMs: fc.constantFrom(1, 200, 5_000, 600_000),
  batchMax: fc.integer({ min: 1, max: 100 }),
  delayMaxMs: fc.constantFrom(0, 50),
  pendingMax: fc.constantFrom(1, 10, 1_000),
  instancesAtOnce: fc.integer({ min: 1, max: 4 }),
  /** Action of the hooks on each call. */
  hook: fc.constantFrom('nothing', 'nothing', 'flush', 'close'),
});

type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;
type Added = { readonly instanceId: string; readonly number: number };

const property = suite('whatever the server does to the calls of a buffer');

property('each observation is accepted once and in order, rejected, or handed back', async () => {
  const runs = Number(process.env['BUFFER_RUNS'] ?? 60);
  await fc.assert(fc.asyncProperty(schedule, check), { numRuns: runs });
});

async function check(given: Schedule): Promise<void> {
  const random = randomOf(given.seed);
  const clock = new VirtualClock(random);
  const server = new ModelServer(clock, random, {
    ...{ rate: given.faultRate, skewMs: given.skewMs },
  });
  // Another client has observed each instance, at most 15 s in the past or 5 s in the future.
  for (const id of INSTANCES) server.create(id, clock.now() + random() * 20_000 - 15_000);
  const client = new IdentityEngine({
    ...{ apiKey: 'k', attemptsMax: 1, baseUrl: 'http://model.test/v1', fetch: server.fetch },
  });
  const rejected = new Set<number>();
  const onRejected = (each: RejectedObservation) => void rejected.add(numberOf(each));
  // Throttled observations count as rejected: the service must not have applied them.
  const onThrottled = (each: ThrottledObservation) => void rejected.add(numberOf(each));
  const onAcknowledged = () => hooked(first, given);
  const first = new ObservationBuffer(
    client,
    { ...given, onRejected, onThrottled, onAcknowledged },
    clock,
  );
  const stopRestarts = restarting(server, clock, given.restartsEveryMs);
  const added: Added[] = [];
  const left = await clock.run(fill(first, clock, given, added));
  stopRestarts();
  assertAccounted(server, added, left, rejected);
  // Wait until the service has applied delayed calls.
  await clock.run(clock.sleep(10_000));
  server.heal();
  const second = new ObservationBuffer(client, { ...given, onRejected, onThrottled }, clock);
  second.restore(JSON.parse(JSON.stringify(left.unacknowledged)));
  const end = await clock.run(second.close({ timeoutMs: 24 * 3_600_000 }));
  assert.equal(end.unacknowledged, []);
  assert.is(
    first.pending + second.pending - handedBackOf(left).length,
    0,
    'observations without an outcome',
  );
  for (const id of INSTANCES) {
    const wanted = added.filter(({ instanceId, number }) => {
      return instanceId === id && !rejected.has(number);
    });
    assert.equal(
      server.acceptedOf(id),
      wanted.map(({ number }) => number),
    );
  }
}

const INSTANCES = ['inst_0', 'inst_1', 'inst_2', 'inst_3'];

/** Adds the scheduled observations, waiting while the buffer is full, and closes the buffer. */
async function fill(
  buffer: ObservationBuffer,
  clock: VirtualClock,
  { additions, closeTimeoutMs, instances, pendingMax }: Schedule,
  added: Added[],
): Promise<CloseResult> {
  const adds: Promise<unknown>[] = [];
  for (const [number, addition] of additions.entries()) {
    const { instance, gapMs, strength: signal_strength, ownMs, isSideBySide, stepMs } = addition;
    if (gapMs > 0) await clock.sleep(gapMs);
    clock.step(stepMs);
    const instanceId = `inst_${instance % instances}`;
    const timestamp = ownMs === undefined ? {} : { timestamp: isoOf(clock.now() + ownMs) };
    const observation: Observation = { mode_target: 'ORDER', signal_strength, context: { number } };
    const add = buffer.add(instanceId, { ...observation, ...timestamp }).then(
      () => {
        assert.ok(buffer.pending <= pendingMax, 'more than pendingMax');
        added.push({ instanceId, number });
      },
      (error: unknown) => assert.instance(error, BufferClosedError),
    );
    adds.push(add);
    if (!isSideBySide) await add;
  }
  await Promise.all(adds);
  return await buffer.close({ timeoutMs: closeTimeoutMs });
}

/** Action of a hook: flushes or closes the buffer. */
function hooked(buffer: ObservationBuffer, { hook, closeTimeoutMs: timeoutMs }: Schedule): void {
  if (hook === 'flush') buffer.flush().catch((error) => assert.instance(error, BufferClosedError));
  if (hook === 'close' && buffer.pending === 0) void buffer.close({ timeoutMs });
}

/**
 * Checks after the first close that every observation has exactly one outcome, and that
 * acknowledged observations are stored.
 */
function assertAccounted(
  server: ModelServer,
  added: readonly Added[],
  left: CloseResult,
  rejected: ReadonlySet<number>,
): void {
  const handedBack = handedBackOf(left);
  assert.is(
    left.acknowledged + left.rejectedCount + left.throttledCount + handedBack.length,
    added.length,
    'number of outcomes',
  );
  assert.is(rejected.size, left.rejectedCount + left.throttledCount);
  const out = new Set([...handedBack, ...rejected]);
  const neverSent = left.unacknowledged.filter(({ mayHaveHappened }) => !mayHaveHappened);
  const untouched = new Set(
    neverSent.flatMap(({ observations }) =>
      observations.map((observation) => numberOf({ observation })),
    ),
  );
  for (const id of INSTANCES) {
    const accepted = server.acceptedOf(id);
    assert.equal(accepted, [...new Set(accepted)], 'applied once each');
    assert.equal(
      accepted,
      accepted.toSorted((a, b) => a - b),
      'in order',
    );
    for (const number of accepted)
      assert.not(
        untouched.has(number),
        `observation ${number} was applied, but handed back as never applied`,
      );
    for (const { instanceId, number } of added) {
      if (instanceId === id && !out.has(number)) assert.ok(accepted.includes(number), `${number}`);
    }
  }
}

function restarting(server: ModelServer, clock: VirtualClock, everyMs: number): () => void {
  if (everyMs === 0) return () => {};
  let cancel = () => {};
  const again = () => {
    server.restart();
    cancel = clock.after(everyMs, again);
  };
  cancel = clock.after(everyMs, again);
  return () => cancel();
}

function handedBackOf({ unacknowledged }: CloseResult): number[] {
  return unacknowledged.flatMap(({ observations }) =>
    observations.map((observation) => numberOf({ observation })),
  );
}

function numberOf({ observation }: { readonly observation: Observation }): number {
  return Number(observation.context?.['number']);
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

property.run();
