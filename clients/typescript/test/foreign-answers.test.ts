import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ApiError,
  type AttemptEvent,
  IdentityEngine,
  IdentityEngineError,
  MalformedAnswerError,
} from '../src/identity-engine.ts';
import { rejection } from './support/clients.ts';

const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.5 } as const;
const OF_SERVICE = { 'x-request-id': 'req_1' };

/** A client with one attempt per call, whose requests all get this answer. */
function answering(body: unknown, status = 200, headers: Record<string, string> = {}) {
  const requests: string[] = [];
  const text = body === undefined ? null : JSON.stringify(body);
  const fetch = async (url: string) => {
    requests.push(url);
    return new Response(text, { status, headers });
  };
  const client = new IdentityEngine({
    ...{ apiKey: 'k', baseUrl: 'http://x.test/v1', attemptsMax: 1, fetch },
  });
  return { client, requests };
}

const foreign = suite('an answer that the service did not send');

for (const [what, body, status, headers] of [
  ['a success without a request id', { data: { id: 'x' } }, 200, {}],
  ['a success without data', { data: null }, 200, OF_SERVICE],
  ['a success whose data is a word', { data: 'ok' }, 200, OF_SERVICE],
  ['204', undefined, 204, OF_SERVICE],
  ['an unrequested 304', undefined, 304, OF_SERVICE],
  ["a gateway's 404", { error: 'Not Found', message: 'no route' }, 404, {}],
  ["a gateway's 422", { error: 'Unprocessable', message: 'no' }, 422, {}],
  ["a gateway's 503", { error: 'Service Unavailable', message: 'no' }, 503, {}],
] as const) {
  foreign(`is malformed and leaves the outcome of a change unknown: ${what}`, async () => {
    const { client } = answering(body, status, headers);
    const changes = [
      client.instance('i').process(OBSERVATION),
      client.instances.create({ name: 'x' }),
      client.instances.update('i', { name: 'x' }),
    ];
    for (const change of changes) {
      const error = await rejection(change, MalformedAnswerError);
      assert.equal([error.status, error.mayHaveHappened], [status, true]);
    }
    const error = await rejection(client.instances.get('i'), MalformedAnswerError);
    assert.is(error.mayHaveHappened, false);
  });
}

const later = suite('a refusal with a code of a later release');

later('throws an ApiError with this code, and leaves no unknown outcome', async () => {
  const { client } = answering({ error: 'too_tired', message: 'later' }, 409, OF_SERVICE);
  const error = await rejection(client.instance('i').process(OBSERVATION), ApiError);
  assert.equal([error.code, error.mayHaveHappened], ['too_tired', false]);
});

const header = suite('a value that no header can carry');

for (const [what, call] of [
  ['ifMatch', (client) => client.instances.update('i', { name: 'x' }, { ifMatch: 'a\nb' })],
  ['ifNoneMatch', (client) => client.instances.get('i', { ifNoneMatch: 'a\0' })],
  [
    'idempotencyKey',
    (client) => client.instance('i').process(OBSERVATION, { idempotencyKey: '中' }),
  ],
  [
    'an empty idempotencyKey',
    (client) => client.instances.create({ name: 'x' }, { idempotencyKey: '' }),
  ],
  ['requestId', (client) => client.account.get({ requestId: 'a\r\nb: c' })],
] as const satisfies readonly (readonly [string, (client: IdentityEngine) => Promise<unknown>])[]) {
  header(`is an error before anything is sent: ${what}`, async () => {
    const { client, requests } = answering({ data: {} }, 200, OF_SERVICE);
    const error = await rejection(call(client), IdentityEngineError);
    assert.is(error.constructor, IdentityEngineError);
    assert.match(error.message, /header/);
    assert.equal(requests, []);
  });
}

const path = suite('an id that would lead to another path');

for (const id of ['', '.', '..']) {
  path(`is an error before anything is sent: "${id}"`, async () => {
    const { client, requests } = answering({ data: {} }, 200, OF_SERVICE);
    await rejection(client.instances.delete(id), IdentityEngineError);
    await rejection(client.instance(id).snapshot(), IdentityEngineError);
    await rejection(client.personas.get(id), IdentityEngineError);
    assert.equal(requests, []);
  });
}

const hook = suite('the attempt hook');

hook('receives no part of a foreign body, and may return a promise that rejects', async () => {
  const seen: unknown[] = [];
  const onAttempt = async ({ error }: AttemptEvent) => {
    seen.push(error);
    throw new Error('the log is full');
  };
  const fetch = async () => new Response('<html>a secret');
  const client = new IdentityEngine({
    ...{ apiKey: 'k', baseUrl: 'http://x.test/v1', attemptsMax: 1, fetch, onAttempt },
  });
  const error = await rejection(client.account.get(), MalformedAnswerError);
  assert.is(error.excerpt, '<html>a secret');
  assert.equal(
    seen.map((each) => each instanceof MalformedAnswerError && each.excerpt),
    [''],
  );
});

for (const each of [foreign, later, header, path, hook]) each.run();
