import { globSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDPOINTS } from '#edge/endpoints/all';
import { endpoint, INSTANCE_ID } from '#edge/endpoints/endpoint';
import { NoQuery } from '#edge/schemas/instance';

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const catalog = suite('every endpoint');

catalog('has a test file with its name', () => {
  for (const { name } of ENDPOINTS) {
    assert.ok(globSync(`test/api/*/${kebab(name)}.test.ts`).length === 1, name);
  }
});

catalog(
  'needs a scope for reading if its method is GET, and costs cycles only for processing',
  () => {
    for (const { name, method, scope, isBilled } of ENDPOINTS) {
      // The audit trail shows other callers' actions, so a scope of its own is needed.
      const needed = { getAudit: 'audit', getAccount: 'any' }[name] ?? 'read';
      if (method === 'GET') assert.equal([scope, isBilled], [needed, false], name);
    }
    const billed = ENDPOINTS.filter(({ isBilled }) => isBilled).map(({ name }) => name);
    assert.equal(billed, ['processObservation', 'processBatch']);
  },
);

catalog('has an example for the API document if its method is GET', () => {
  for (const { name, examples, method } of ENDPOINTS) {
    if (method === 'GET') assert.ok(examples.length > 0, name);
  }
});

const declared = suite('the definition of an endpoint');

const RECORD = {
  name: 'getThing',
  method: 'GET',
  path: '/thing',
  tag: 'Account',
  summary: 'Get a thing',
  description: 'A thing.',
  scope: 'read',
  query: NoQuery,
  response: NoQuery,
  refusals: [],
  handler: { kind: 'stateless', answer: async () => ({}) },
} as const;

declared('has defaults for omitted fields', () => {
  const { success, bodyBytesMax, isKeyed, isGuarded, isTagged, isBilled, cyclesOf } =
    endpoint(RECORD);
  assert.equal(
    [success, bodyBytesMax, isKeyed, isGuarded, isTagged],
    [200, 32_768, false, false, false],
  );
  const request = {
    id: '',
    body: undefined,
    query: {},
    named: new Set<string>(),
    headers: {},
    url: '',
    nowMs: 0,
  };
  assert.equal([isBilled, cyclesOf(request)], [false, 0]);
});

declared('has a pathId exactly if the path has an id', () => {
  assert.throws(() => endpoint({ ...RECORD, path: '/things/:id' }), /pathId go together/);
  assert.throws(() => endpoint({ ...RECORD, pathId: INSTANCE_ID }), /pathId go together/);
});

declared('allows idempotency keys, conditions and cycles only for engine handlers', () => {
  for (const change of [{ isKeyed: true }, { isGuarded: true }, { cycles: () => 1 }] as const) {
    assert.throws(() => endpoint({ ...RECORD, ...change }), /needs an engine/);
  }
});

for (const each of [catalog, declared]) each.run();
