import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type AccountEventStream,
  type ClientOptions,
  type EventStream,
  type Followed,
  IdentityEngine,
  type InstanceEvent,
  type Limits,
  type Page,
} from '../src/identity-engine.ts';
import { makeCall } from './support/call-of-case.ts';
import { CaseServer } from './support/case-server.ts';
import { type Expected, type WireCase, wireCases } from './support/wire-case.ts';

type Seen = Readonly<Record<string, ReturnType<typeof JSON.parse>>>;

const cases = wireCases();
const wire = suite('the client passes the wire case');

for (const each of cases) {
  wire(`${each.file}: ${each.name}`, async () => {
    await using server = await CaseServer.start(each);
    const client = new IdentityEngine({
      apiKey: each.key,
      baseUrl: server.baseUrl,
      ...clientOptionsOf(each),
    });
    const startedMs = performance.now();
    await play(client, each);
    const tookS = (performance.now() - startedMs) / 1_000;
    assert.ok(tookS >= (each.expect.takes_at_least_s ?? 0), `the call took ${tookS} s`);
    server.assertPlayed();
  });
}

const found = suite('the wire cases');

found('are more than 50', () => assert.ok(cases.length > 50));

async function play(client: IdentityEngine, { call, expect, exchanges }: WireCase): Promise<void> {
  const bodyOf = (index: number): Seen => {
    const answer = exchanges[index]?.answer;
    return typeof answer === 'object' ? (answer.body as Seen) : {};
  };
  const items = expect.items_of?.flatMap((index) => bodyOf(index)['data']);
  if (expect.events !== undefined) {
    await assertStream(makeCall(client, call) as EventStream | AccountEventStream, expect);
  } else if (expect.error !== undefined) {
    assertError(await errorOf(() => outcomeOf(makeCall(client, call))), expect.error);
  } else if (/\.iterate/.test(call.method)) {
    assert.equal(await outcomeOf(makeCall(client, call)), items);
  } else {
    const result = (await makeCall(client, call)) as Seen;
    assertFacts(result, expect);
    if (expect.data_of !== undefined) assert.equal(result['data'], bodyOf(expect.data_of)['data']);
    if (expect.data !== undefined) assert.equal(result['data'] ?? null, expect.data);
    if (expect.pages !== undefined && expect.pages > 1) {
      const all = await itemsOf(result, expect.pages);
      if (items !== undefined) assert.equal(all, items);
    }
  }
}

/** Awaits a promise, or collects all items of an iterable. */
async function outcomeOf(made: unknown): Promise<unknown> {
  if (typeof made !== 'object' || made === null || !(Symbol.asyncIterator in made)) {
    return await made;
  }
  const items: unknown[] = [];
  for await (const item of made as AsyncIterable<unknown>) items.push(item);
  return items;
}

async function errorOf(work: () => Promise<unknown>): Promise<Error> {
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, Error, 'nothing was thrown');
  return error as Error;
}

async function itemsOf(first: Seen, pages: number): Promise<unknown[]> {
  const items: unknown[] = [];
  let page: Page<unknown, unknown> | undefined = first as unknown as Page<unknown, unknown>;
  for (let count = 0; count < pages; count += 1) {
    assert.ok(page, `page ${count + 1}`);
    items.push(...page.data);
    page = await page.next();
  }
  assert.is(page, undefined, 'no page after the last page');
  return items;
}

function assertStream(stream: EventStream | AccountEventStream, expect: Expected): Promise<void> {
  return 'cursor' in stream ? assertFollowed(stream, expect) : assertEvents(stream, expect);
}

async function assertEvents(stream: EventStream, expect: Expected): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]();
  for (const wanted of expect.events ?? []) {
    const { value, done } = await iterator.next();
    assert.is(done, false, `the stream ended before ${wanted.event}`);
    const event = value as InstanceEvent;
    assert.is(event.type === 'unknown' ? event.name : event.type, wanted.event);
    if ('id' in wanted) assert.is(event.id, wanted.id);
    if ('data' in wanted) assert.equal(event.data, wanted.data);
  }
  if (expect.error !== undefined) {
    assertError(await errorOf(() => iterator.next()), expect.error);
  } else if (expect.ends === true) {
    assert.is((await iterator.next()).done, true);
  }
  if (expect.last_event_id !== undefined) assert.is(stream.lastEventId, expect.last_event_id);
  await iterator.return();
}

async function assertFollowed(stream: AccountEventStream, expect: Expected): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]();
  const seen: object[] = [];
  for (const _ of expect.events ?? []) seen.push(shown((await iterator.next()).value as Followed));
  assert.equal(seen, expect.events);
  assert.is(stream.cursor, expect.last_event_id);
  await iterator.return();
}

function shown(item: Followed): object {
  if (item.type === 'gap') return { event: 'gap', id: item.cursor };
  return { event: item.event.type, id: item.cursor, data: item.event };
}

function assertFacts(result: Seen, expect: Expected): void {
  const facts: Seen = {
    status: result['status'],
    request_id: result['requestId'],
    etag: result['etag'],
    is_replayed: result['isReplayed'],
    is_not_modified: result['isNotModified'],
    attempts: result['attempts'],
    pagination: result['pagination'],
    limits: limitsOf(result['limits']),
    throttled: result['throttled'] && { retry_after_s: result['throttled'].retryAfterMs / 1_000 },
  };
  for (const [name, value] of Object.entries(facts)) {
    if (expect[name] !== undefined) assert.equal(value ?? null, expect[name], name);
  }
  assertHeaders(result['headers'], expect['headers']);
}

function assertHeaders(headers: Headers, wanted: unknown): void {
  for (const [name, value] of Object.entries(wanted ?? {})) {
    assert.is(headers.get(name), value, name);
  }
}

function assertError(error: Error, wanted: Readonly<Record<string, unknown>>): void {
  const given = error as unknown as Seen;
  const seen: Seen = {
    class: error.constructor.name,
    code: given['code'],
    status: given['status'],
    message: given['text'] ?? error.message,
    field: given['field'],
    reason: given['reason'],
    details: given['details'],
    retry_after_s: given['retryAfterS'],
    may_have_happened: given['mayHaveHappened'],
    request_id: given['requestId'],
    limits: limitsOf(given['limits']),
  };
  const { headers, ...facts } = wanted;
  assertHeaders(given['headers'], headers);
  for (const [name, value] of Object.entries(facts)) {
    assert.ok(name in seen, `an error has no ${name}`);
    assert.equal(seen[name] ?? null, value, `${name} of ${error}`);
  }
}

function limitsOf(limits: Limits | undefined): object | undefined {
  if (limits === undefined) return undefined;
  const { limit, remaining, resetAt } = limits.requests;
  const requests = { limit, remaining, reset_at_unix_s: resetAt.getTime() / 1_000 };
  return { requests, monthly_remaining: limits.monthlyRemaining };
}

function clientOptionsOf({ client = {} }: WireCase): ClientOptions {
  return {
    ...(client.timeout_s === undefined ? {} : { timeoutMs: client.timeout_s * 1_000 }),
    ...(client.attempt_timeout_s === undefined
      ? {}
      : { attemptTimeoutMs: client.attempt_timeout_s * 1_000 }),
    ...(client.attempts_max === undefined ? {} : { attemptsMax: client.attempts_max }),
    ...{ headers: client.headers, application: client.application },
  };
}

for (const each of [wire, found]) each.run();
