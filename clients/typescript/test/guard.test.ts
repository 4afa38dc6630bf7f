import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ActionForbiddenError,
  type Contract,
  NoContractError,
  StaleContractError,
} from '../src/identity-engine.ts';
import { clientOf, rejection } from './support/clients.ts';
import { data, FakeServer, type Reaction } from './support/fake-server.ts';

const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.5 } as const;

function contractOf(allowed: string, forbidden: string): Contract {
  return { allowed_actions: [allowed], forbidden_actions: [forbidden] } as unknown as Contract;
}

/** Answers once the promise settles. */
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

guarded('knows allowed, forbidden and open', () => {
  const guard = clientOf({ baseUrl: 'http://127.0.0.1:1/v1' }).instance('inst_1').guard();
  guard.update(contractOf('clarify', 'explore'));
  const verdicts = ['clarify', 'explore', 'comfort'].map((action) => guard.verdict(action));
  assert.equal(verdicts, ['allowed', 'forbidden', 'open']);
  assert.equal([guard.allows('comfort'), guard.allows('explore')], [true, false]);
  guard.require('comfort');
  assert.throws(
    () => guard.require('explore'),
    (error: Error) => error instanceof ActionForbiddenError && error.action === 'explore',
  );
});

guarded('does not go by a contract that is older than it may be', async () => {
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
  guarded(`hears of the contract of ${what}`, async () => {
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

guarded('hears of the contracts of events, and of no simulation', async () => {
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

guarded('does not take an answer whose request began before that of the one it has', async () => {
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

guarded('throws what the service says when it is refreshed', async () => {
  const instance = clientOf({ baseUrl: 'http://127.0.0.1:9/v1' }, { attemptsMax: 1 }).instance('i');
  await rejection(instance.guard().refresh(), Error);
});

guarded.run();
