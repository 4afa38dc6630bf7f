import { anInstance, ORDER, processing } from '#test/clients/cases/endpoints';
import { Hindrances } from '#test/clients/cases/retries';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, Json, WireAnswer } from '#test/clients/cases/wire-case';

/** Cases of options that every call has, and of `client.request`. */
export async function everyCallCases(tape: Tape): Promise<void> {
  const instance = await anInstance(tape);
  await headerCases(tape, instance);
  await requestCases(tape, instance);
  await retriedRequests(tape, new Hindrances(tape, processing(instance)));
  await laterEndpoints(tape);
}

/** Headers in both directions. */
async function headerCases(tape: Tape, id: string): Promise<void> {
  const client = { headers: { 'X-Game': 'blue', 'X-Team': 'red' }, application: 'my-game/2.1' };
  const get: Call = { method: 'instances.get', arguments: { id } };
  const { answer } = await tape.exchange(get);
  assertSent(answer);
  const { etag = '', 'cache-control': cache = '' } = answer.headers;
  const headers = { ETag: etag, 'cache-control': cache };
  await tape.record('get: extra headers, application name, and the headers of the answer', get, {
    ...{ client, expect: { headers } },
  });
  const unchanged = { ...get, options: { if_none_match: etag } };
  await tape.record('get: the headers of "not modified"', unchanged, { expect: { headers } });
  const options = { headers: { 'x-game': 'green', 'x-step': '7' } };
  await tape.record('process: extra headers of client and call', processing(id, ORDER, options), {
    client,
  });
  const absent: Call = { method: 'instances.get', arguments: { id: 'inst_00000000000000ff' } };
  const refused = await tape.exchange(absent);
  assertSent(refused.answer);
  const seen = { 'Content-Type': refused.answer.headers['content-type'] };
  await tape.record('error: the headers of the answer', absent, {
    expect: { error: { class: 'NotFoundError', headers: seen } },
  });
  const pages: Call = { method: 'personas.list', options };
  await tape.record('personas: extra headers', pages);
}

/** Requests to known paths. */
async function requestCases(tape: Tape, id: string): Promise<void> {
  await tape.record('request: a parameter that no method has', {
    method: 'client.request',
    arguments: { method: 'GET', path: `/instances/${id}/contract`, query: { prompt: true } },
  });
  await tape.record('request: a list, with its position', {
    method: 'client.request',
    arguments: { method: 'GET', path: '/instances', query: { limit: 1, search: 'Ada & Eva' } },
  });
  const create: Call = {
    method: 'client.request',
    arguments: { method: 'POST', path: '/instances', body: { name: 'Ada & Eva' } },
    options: { idempotency_key: tape.newKey(), request_id: 'order-4711' },
  };
  await tape.record('request: a change with a key', create);
  await tape.record('request: the same key again is a replay', create);
  const get = { method: 'GET', path: `/instances/${id}` };
  const { answer } = await tape.exchange({ method: 'client.request', arguments: get });
  assertSent(answer);
  await tape.record('request: not modified', {
    method: 'client.request',
    arguments: get,
    options: { if_none_match: answer.headers['etag'] ?? '' },
  });
  await tape.record('request: If-Match of an older version', {
    method: 'client.request',
    arguments: { method: 'PATCH', path: `/instances/${id}`, body: { name: 'Eva' } },
    options: { if_match: '"snap_0000000000000000"' },
  });
}

/** Requests with a failed attempt. */
async function retriedRequests(tape: Tape, hindrances: Hindrances): Promise<void> {
  const certain = await hindrances.of('limiter_unavailable');
  const open = await hindrances.of('outcome_unknown');
  const origin = 'composed';
  const request = (method: string, path: string, options = {}, body?: Json): Call => ({
    ...{ method: 'client.request', options },
    arguments: { method, path, ...(body === undefined ? {} : { body }) },
  });
  const read = request('GET', '/account');
  await tape.record('request: a GET is retried', read, { origin, before: ['close'] });
  const keyed = () =>
    request('POST', '/instances', { idempotency_key: tape.newKey() }, { name: 'Ada' });
  for (const [what, hindrance] of Object.entries({
    'a closed connection': 'close',
    'an unknown outcome': open,
  } as const)) {
    const name = `request: a change with a key is retried after ${what}`;
    await tape.record(name, keyed(), { origin, before: [hindrance] });
  }
  const unkeyed = request('POST', '/instances', {}, { name: 'Ada' });
  await tape.record('request: a change is retried after a failure without effect', unkeyed, {
    ...{ origin, before: [certain] },
  });
  const lost = { class: 'ConnectionError', may_have_happened: true };
  await tape.record('request: a change is not retried after a closed connection', unkeyed, {
    ...{ origin, instead: 'close', expect: { error: lost } },
  });
  await tape.record('request: a change is not retried after an unknown outcome', unkeyed, {
    ...{ origin, instead: open },
  });
}

/** Endpoints of a later release. */
async function laterEndpoints(tape: Tape): Promise<void> {
  const origin = 'composed';
  const moods = (method: string, more = {}): Call => ({
    method: 'client.request',
    arguments: { method, path: '/moods/a%2Fb', ...more },
  });
  await tape.record('request: an unknown path', moods('GET'), { origin });
  const { answer } = await tape.exchange({ method: 'account.get' });
  assertSent(answer);
  const { headers } = answer;
  const mood: WireAnswer = { status: 200, headers, body: { data: { mood: 'calm', depth: 0.5 } } };
  const put = moods('PUT', { body: { mood: 'calm' } });
  await tape.record('request: an endpoint of a later release', put, { origin, instead: mood });
  const empty: WireAnswer = { status: 204, headers };
  const remove = moods('DELETE');
  await tape.record('request: an answer without a body', remove, { origin, instead: empty });
}

function assertSent(answer: WireAnswer): asserts answer is Exclude<WireAnswer, string> {
  if (typeof answer === 'string') throw new Error(`the answer is ${answer}`);
}
