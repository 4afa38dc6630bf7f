import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { type EngineAnswer, type EngineCall, plainAnswer } from '#grpc/engine-messages';
import { callOf, clusterUnderTest, ownerAt, passing } from '#test/routing/routing-fakes';
import { stateOf, turnOfEvents } from '#test/support/settled';

/** Virtual milliseconds between two steps of the simulation. */
const STEP_MS = 25;
/** Maximum duration of a call, in milliseconds. */
const CALL_MS_MAX = 10_000;
/** Maximum time after which an engine of this test answers, in milliseconds. */
const ANSWER_MS_MAX = 400;

const ADDRESSES = ['a', 'b', 'c'];
const address = fc.constantFrom(...ADDRESSES);

/** Reaction of an engine to an attempt, in this turn or later. */
type Reaction = {
  readonly kind: 'answer' | 'refuse' | 'not_owner' | 'engine_unavailable' | 'shutting_down';
  readonly afterMs: number | undefined;
  readonly isUnknown: boolean;
  readonly named: { readonly address: string; readonly epoch: number } | undefined;
};

const reaction: fc.Arbitrary<Reaction> = fc.record({
  kind: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('answer' as const, 'refuse' as const) },
    {
      weight: 12,
      arbitrary: fc.constantFrom(
        'not_owner' as const,
        'engine_unavailable' as const,
        'shutting_down' as const,
      ),
    },
  ),
  afterMs: fc.option(fc.nat({ max: ANSWER_MS_MAX }), { nil: undefined }),
  isUnknown: fc.boolean(),
  named: fc.option(fc.record({ address, epoch: fc.integer({ min: 1, max: 40 }) }), {
    nil: undefined,
  }),
});

/** Events during the call. */
type Event =
  | { readonly kind: 'owner'; readonly address: string; readonly epoch: number }
  | { readonly kind: 'lose' | 'open'; readonly address: string }
  | { readonly kind: 'step'; readonly byMs: number };

const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('owner' as const),
      address,
      epoch: fc.integer({ min: 1, max: 40 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('lose' as const, 'open' as const), address }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      byMs: fc.integer({ min: -60_000, max: 4_000 }),
    }),
  },
);

type TimedEvent = { readonly atMs: number; readonly event: Event };

const history: fc.Arbitrary<TimedEvent[]> = fc.array(
  fc.record({ atMs: fc.nat({ max: CALL_MS_MAX }), event }),
  { maxLength: 30, size: 'max' },
);

type Cluster = ReturnType<typeof clusterUnderTest>;
type Attempt = {
  atMs: number;
  wallMs: number;
  call: object;
  hasEnded: boolean;
  isUnknown: boolean;
  isAlone: boolean;
};

/**
 * Sets up engines that react with `reactions`, one for each attempt. Returns the attempts that the
 * engines receive.
 */
function reactingEngines({ clock, engines }: Cluster, reactions: readonly Reaction[]): Attempt[] {
  const attempts: Attempt[] = [];
  for (const at of ADDRESSES) {
    engines.set(at, (call) => {
      const next = reactions[attempts.length % reactions.length];
      assert.ok(next !== undefined);
      const made = { atMs: clock.monotonicMs(), wallMs: clock.wallMs(), call };
      const isAlone = attempts.every(({ hasEnded }) => hasEnded);
      const seen: Attempt = { ...made, hasEnded: false, isUnknown: false, isAlone };
      attempts.push(seen);
      const react = (): EngineAnswer => {
        seen.hasEnded = true;
        if (next.kind === 'answer') return plainAnswer('done');
        if (next.kind === 'refuse') throw new Fault('conflict', 'no');
        seen.isUnknown = next.kind === 'engine_unavailable' && next.isUnknown;
        const { named } = next;
        throw passing(next.kind, {
          isOutcomeUnknown: seen.isUnknown,
          ...(named === undefined ? {} : { owner: ownerAt(named.address, named.epoch) }),
        });
      };
      if (next.afterMs === undefined) return react();
      const { afterMs } = next;
      return new Promise((resolve, reject) => {
        clock.after(afterMs, () => {
          try {
            resolve(react());
          } catch (fault) {
            reject(fault);
          }
        });
      });
    });
  }
  return attempts;
}

function happen({ clock, owners, peers }: Cluster, event: Event): void {
  if (event.kind === 'owner') owners.learn(0, ownerAt(event.address, event.epoch));
  else if (event.kind === 'lose') peers.get(event.address)?.lose();
  else if (event.kind === 'open') peers.get(event.address)?.open();
  else if (event.kind === 'step') clock.stepWall(event.byMs);
}

/** Advances the clock past the maximum duration of a call. The events happen at their times. */
async function live(cluster: Cluster, history: readonly TimedEvent[]): Promise<void> {
  const events = history.toSorted((a, b) => a.atMs - b.atMs);
  for (let atMs = 0; atMs <= CALL_MS_MAX + ANSWER_MS_MAX; atMs += STEP_MS) {
    for (let next = events[0]; next !== undefined && next.atMs <= atMs; next = events[0]) {
      events.shift();
      happen(cluster, next.event);
    }
    cluster.clock.advance(STEP_MS);
    await turnOfEvents();
  }
}

function assertOneCall(call: EngineCall, attempts: readonly Attempt[]): void {
  for (const [at, { atMs, wallMs, call: sent, isAlone }] of attempts.entries()) {
    assert.is(sent, call, 'every attempt is the same call');
    assert.ok(isAlone, 'one attempt at a time');
    assert.ok(atMs < CALL_MS_MAX, 'no attempt after 10 s');
    if (at > 0) assert.ok(wallMs < call.deadlineAtMs, 'no attempt after the deadline');
  }
}

const anything = suite('after any events at owners, connections and engines');

anything('a call keeps its identity, ends, and is never retried after its deadline', async () => {
  let retriedRuns = 0;
  const reactions = fc.array(reaction, { minLength: 1, maxLength: 40 });
  const deadlineMs = fc.integer({ min: 1, max: 15_000 });
  await fc.assert(
    fc.asyncProperty(reactions, history, deadlineMs, async (reactions, history, deadlineMs) => {
      const cluster = clusterUnderTest();
      const { clock, routed } = cluster;
      const attempts = reactingEngines(cluster, reactions);
      const call = callOf(clock, { callId: 42, deadlineAtMs: clock.wallMs() + deadlineMs });
      const answer = (async () => routed.ask(call))();
      answer.catch(() => undefined);
      await live(cluster, history);
      const outcome = await stateOf(answer);
      assert.is.not(outcome, 'pending', 'the call ends');
      assertOneCall(call, attempts);
      if (attempts.length > 1) retriedRuns += 1;
      if (outcome === 'pending' || 'value' in outcome) return;
      const fault = outcome.error;
      assert.instance(fault, Fault);
      const { reason, isOutcomeUnknown } = fault as Fault;
      assert.is(
        isOutcomeUnknown,
        attempts.some(({ isUnknown }) => isUnknown),
      );
      assert.ok(reason === undefined || reason === 'engine_unavailable', reason);
    }),
    { numRuns: 150 },
  );
  assert.ok(retriedRuns > 50, 'retries occurred in this test');
});

anything.run();
