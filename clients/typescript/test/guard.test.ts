import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import models from '../../models/models.json' with { type: 'json' };
import {
  ACTIONS,
  ActionForbiddenError,
  type Contract,
  IdentityEngineError,
  isKnownAction,
  type KnownAction,
  NoContractError,
  StaleContractError,
  UnknownActionError,
} from '../src/identity-engine.ts';
import { clientOf, rejection } from './support/clients.ts';
import { data, FakeServer, type Reaction, refusal } from './support/fake-server.ts';

const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.5 } as const;

function contractOf(allowed: string, forbidden: string): Contract {
  return { allowed_actions: [allowed], forbidden_actions: [forbidden] } as unknown as Contract;
}

/** Answers after the promise has resolved. */
function later(reaction: Reaction, when: Promise<void>): Reaction {
  return async (...received) => {
    await when;
    await reaction(...received);
  };
}

const guarded = suite('a guard');

guarded('has no verdict without a contract', () => {
  const guard = clientOf({ baseUrl: 'http://127.0.0.1:1/v1' }).instance('inst_1').guard();
  assert.throws(
    () => guard.allows('explore'),
    (error: Error) => error instanceof NoContractError,
  );
  assert.equal([guard.contract, guard.ageMs], [undefined, undefined]);
});

guarded('distinguishes allowed, forbidden and open actions', () => {
  const guard = clientOf({ baseUrl: 'http://127.0.0.1:1/v1' }).instance('inst_1').guard();
  guard.update(contractOf('clarify', 'explore'));
  const verdicts = (['clarify', 'explore', 'comfort'] as const).map((action) =>
    guard.verdict(action),
  );
  assert.equal(verdicts, ['allowed', 'forbidden', 'open']);
  assert.equal([guard.allows('comfort'), guard.allows('explore')], [true, false]);
  guard.require('comfort');
  assert.throws(
    () => guard.require('explore'),
    (error: Error) => error instanceof ActionForbiddenError && error.action === 'explore',
  );
});

for (const word of ['exlpore', 'Explore', '', 'toString', undefined]) {
  // Report 17: a guard allowed all actions outside its contract, even misspelt names.
  guarded(`refuses an unknown action: ${JSON.stringify(word)}`, () => {
    const guard = clientOf({ baseUrl: 'http://127.0.0.1:1/v1' }).instance('inst_1').guard();
    const action = word as KnownAction;
    for (const contract of [undefined, contractOf('clarify', 'explore')]) {
      if (contract !== undefined) guard.update(contract);
      for (const ask of [guard.verdict, guard.allows, guard.require]) {
        assert.throws(
          () => ask.call(guard, action),
          (error: Error) => error instanceof UnknownActionError && error.action === word,
        );
      }
    }
    assert.is(isKnownAction(word), false);
  });
}

guarded('accepts each known action, and a later action that the contract lists', () => {
  const guard = clientOf({ baseUrl: 'http://127.0.0.1:1/v1' }).instance('inst_1').guard();
  guard.update(contractOf('clarify', 'dream'));
  const [{ enum: known = [] } = {}] = models.$defs.Action.anyOf;
  assert.equal(Object.values(ACTIONS), known);
  for (const action of Object.values(ACTIONS)) assert.ok(guard.allows(action));
  assert.is(guard.verdict('dream' as KnownAction), 'forbidden');
});

// Report 17: a guard with NaN as maximum age accepted contracts of any age.
guarded('cannot be created with a maximum age that is not a number', () => {
  const instance = clientOf({ baseUrl: 'http://127.0.0.1:1/v1' }).instance('inst_1');
  for (const maxAgeMs of [Number.NaN, -1, 'x' as unknown as number]) {
    assert.throws(
      () => instance.guard({ maxAgeMs }),
      (error: Error) => error instanceof IdentityEngineError && /maxAgeMs/.test(error.message),
    );
  }
});

guarded('refuses a contract older than its maximum age', async () => {
  const instance = clientOf({ baseUrl: 'http://127.0.0.1:1/v1' }).instance('inst_1');
  const [patient, strict] = [instance.guard(), instance.guard({ maxAgeMs: 20 })];
  patient.update(contractOf('clarify', 'explore'));
  assert.is(strict.allows('clarify'), true);
  await sleep(30);
  assert.ok((strict.ageMs ?? 0) >= 29);
  assert.throws(
    () => strict.allows('clarify'),
    (error: Error) => error instanceof StaleContractError && error.ageMs > 20,
  );
  assert.is(patient.allows('clarify'), true);
});

for (const [what, body, call] of [
  ['process', { contract: contractOf('defer', 'pivot') }, 'process'],
  ['processBatch', { contract: contractOf('defer', 'pivot'), processed_count: 1 }, 'processBatch'],
  ['processBatch with states', { states: [{}, { contract: contractOf('defer', 'pivot') }] }, 'all'],
  ['contract', contractOf('defer', 'pivot'), 'contract'],
  ['refresh', contractOf('defer', 'pivot'), 'refresh'],
] as const) {
  guarded(`takes the contract from ${what}`, async () => {
    await using server = await FakeServer.start(data(body));
    const instance = clientOf(server).instance('inst_1');
    const guard = instance.guard();
    const calls = {
      process: () => instance.process(OBSERVATION),
      processBatch: () => instance.processBatch([OBSERVATION]),
      all: () => instance.processBatch([OBSERVATION], { includeIntermediate: true }),
      contract: () => instance.contract(),
      refresh: () => guard.refresh(),
    };
    await calls[call]();
    assert.is(guard.verdict('pivot'), 'forbidden');
  });
}

guarded('takes contracts from events, but not from simulations', async () => {
  const text =
    'event: state\ndata: {"contract":{"allowed_actions":[],"forbidden_actions":["pivot"]}}';
  const events: Reaction = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${text}\n\nevent: deleted\ndata: {}\n\n`);
  };
  const simulated = data({ states: [{ contract: contractOf('pivot', 'defer') }] });
  await using server = await FakeServer.start(events, simulated);
  const instance = clientOf(server).instance('inst_1');
  const guard = instance.guard();
  for await (const event of instance.events()) void event;
  await instance.simulate([OBSERVATION]);
  assert.is(guard.verdict('pivot'), 'forbidden');
});

guarded('ignores the late answer to an earlier request', async () => {
  const { promise: overtaken, resolve: overtake } = Promise.withResolvers<void>();
  await using server = await FakeServer.start(
    later(data({ contract: contractOf('old', 'old') }), overtaken),
    data({ contract: contractOf('new', 'new') }),
  );
  const instance = clientOf(server).instance('inst_1');
  const guard = instance.guard();
  const first = instance.process(OBSERVATION);
  while (server.received.length === 0) await sleep(1);
  await instance.process(OBSERVATION);
  overtake();
  await first;
  assert.equal(guard.contract?.allowed_actions, ['new']);
});

/** Data of a state after a cycle, with a contract that allows this action. */
const stateOf = (cycle: number, action: string) => ({
  ...{ snapshot: { cycle }, contract: contractOf(action, 'none'), drift: {} },
});
const REPLAYED = { 'idempotent-replayed': 'true' };

guarded('ignores the replayed answer of an earlier call', async () => {
  await using server = await FakeServer.start(
    data(contractOf('new', 'none')),
    data(stateOf(1, 'old'), REPLAYED),
  );
  const instance = clientOf(server).instance('inst_1');
  const guard = instance.guard();
  await guard.refresh();
  await instance.process(OBSERVATION, { idempotencyKey: 'of before' });
  assert.equal(guard.contract?.allowed_actions, ['new']);
});

guarded(
  'takes the later cycle of two overlapping answers, even from the earlier request',
  async () => {
    const { promise: overtaken, resolve: overtake } = Promise.withResolvers<void>();
    await using server = await FakeServer.start(
      later(data(stateOf(8, 'eighth')), overtaken),
      data(stateOf(7, 'seventh')),
    );
    const instance = clientOf(server).instance('inst_1');
    const guard = instance.guard();
    const first = instance.process(OBSERVATION);
    while (server.received.length === 0) await sleep(1);
    await instance.process(OBSERVATION);
    assert.equal(guard.contract?.allowed_actions, ['seventh']);
    overtake();
    await first;
    assert.equal(guard.contract?.allowed_actions, ['eighth']);
  },
);

guarded('takes the answer to a retry that began after the last contract was read', async () => {
  const { promise: read, resolve: isRead } = Promise.withResolvers<void>();
  await using server = await FakeServer.start(
    later(refusal(503, 'service_unavailable'), read),
    data(contractOf('old', 'none')),
    data(stateOf(2, 'new')),
  );
  const instance = clientOf(server).instance('inst_1');
  const guard = instance.guard();
  const processed = instance.process(OBSERVATION);
  while (server.received.length === 0) await sleep(1);
  await guard.refresh();
  isRead();
  await processed;
  assert.equal(guard.contract?.allowed_actions, ['new']);
});

/** A stream of states that stays open. */
const states =
  (...all: readonly object[]): Reaction =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(all.map((each) => `event: state\ndata: ${JSON.stringify(each)}\n\n`).join(''));
  };

guarded('ignores an event that the caller reads after a newer answer', async () => {
  await using server = await FakeServer.start(
    states(stateOf(0, 'old'), stateOf(0, 'old')),
    data(stateOf(1, 'new')),
  );
  const instance = clientOf(server).instance('inst_1');
  const guard = instance.guard();
  const events = instance.events();
  const iterator = events[Symbol.asyncIterator]();
  await iterator.next();
  await instance.process(OBSERVATION);
  await iterator.next();
  events.close();
  assert.equal(guard.contract?.allowed_actions, ['new']);
});

guarded('accepts lower cycles after a reset through the same handle', async () => {
  const { promise: overtaken, resolve: overtake } = Promise.withResolvers<void>();
  await using server = await FakeServer.start(
    data(stateOf(57, 'before')),
    later(data(stateOf(58, 'late')), overtaken),
    data({ id: 'inst_1', cycle: 0 }),
    data(stateOf(1, 'after')),
  );
  const instance = clientOf(server).instance('inst_1');
  const guard = instance.guard();
  await instance.process(OBSERVATION);
  const late = instance.process(OBSERVATION);
  while (server.received.length < 2) await sleep(1);
  await instance.reset('initial');
  await instance.process(OBSERVATION);
  overtake();
  await late;
  assert.equal(guard.contract?.allowed_actions, ['after']);
});

guarded(
  'takes a lower cycle from a later request, because another client may have reset',
  async () => {
    await using server = await FakeServer.start(data(stateOf(57, 'old')), data(stateOf(1, 'new')));
    const instance = clientOf(server).instance('inst_1');
    const guard = instance.guard();
    for (let count = 0; count < 2; count += 1) await instance.process(OBSERVATION);
    assert.equal(guard.contract?.allowed_actions, ['new']);
  },
);

guarded('throws the error of a failed refresh', async () => {
  const instance = clientOf({ baseUrl: 'http://127.0.0.1:9/v1' }, { attemptsMax: 1 }).instance('i');
  await rejection(instance.guard().refresh(), Error);
});

guarded.run();
