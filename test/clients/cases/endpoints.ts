import type { Tape } from '#test/clients/cases/tape';
import type { Call, Json } from '#test/clients/cases/wire-case';

/** Time between two observations of a recording, in milliseconds. */
const APART_MS = 5_000;

export const ORDER = { mode_target: 'ORDER', signal_strength: 0.7, confidence: 0.9 };
const STRESSFUL = { mode_target: 'STRESS_RESPONSE', signal_strength: 1, context: { turn: 17 } };

/** Returns a `process` call. Without a key in `options`, the client creates a key. */
export function processing(instance: string, observation: Json = ORDER, options = {}): Call {
  return { method: 'instance.process', instance, arguments: { observation }, options };
}

/** Creates an instance without recording a case. Returns the instance id. */
export async function anInstance(tape: Tape, name = 'Ada', fields = {}): Promise<string> {
  const made = await tape.play({ method: 'instances.create', arguments: { name, ...fields } });
  return made.id;
}

/** Creates an instance with `cycles` cycles, including drift events. */
export async function aLivedInstance(tape: Tape, cycles: number): Promise<string> {
  const id = await anInstance(tape, 'Grace');
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    tape.service.wait(APART_MS);
    await tape.play(processing(id, cycle < 2 ? ORDER : STRESSFUL));
  }
  return id;
}

/** Cases that create, get, update, delete and list instances. */
export async function instanceCases(tape: Tape): Promise<void> {
  const fields = {
    name: 'Ada',
    description: 'plans the week',
    tags: { team: 'planning', Zürich: '' },
    initial_config: { mode_strengths: { order: 0.8, perception: 0.6 }, energy_level: 0.9 },
  };
  const options = { idempotency_key: tape.newKey() };
  const create: Call = { method: 'instances.create', arguments: fields, options };
  const { id } = await tape.record('create: an instance', create);
  await tape.record('create: the same key again is a replay', create);
  await tape.record('create: without a key, the client sends a UUIDv7', {
    method: 'instances.create',
    arguments: { name: 'Bob' },
  });
  const get: Call = { method: 'instances.get', arguments: { id } };
  await tape.record('get: an instance', get);
  await tape.record("get: with the caller's request id", {
    ...get,
    options: { request_id: 'order-4711' },
  });
  const { answer } = await tape.exchange(get);
  const etag = typeof answer === 'string' ? '' : (answer.headers['etag'] ?? '');
  const conditional = { ...get, options: { if_none_match: etag } };
  await tape.record('get: not modified', conditional);
  const arguments_ = { id, name: 'Ada the second' };
  tape.service.wait(APART_MS);
  const update: Call = { method: 'instances.update', arguments: arguments_ };
  await tape.record('update: a new name', update);
  await tape.record('update: new tags replace all tags', {
    ...update,
    arguments: { id, tags: { team: 'releases' } },
  });
  await tape.record('get: modified since', conditional);
  const stale = { ...update, options: { if_match: etag } };
  await tape.record('update: If-Match of an older version', stale);
  const remove: Call = { method: 'instances.delete', arguments: { id } };
  await tape.record('delete: If-Match of an older version', {
    ...remove,
    options: { if_match: etag },
  });
  await tape.record('delete: an instance', remove);
  await tape.record('get: a deleted instance', get);
}

/** Cases of paginated lists. */
export async function pageCases(tape: Tape): Promise<void> {
  for (const name of ['Carol', 'Dave', 'Erin', 'Frank', 'Grace']) {
    tape.service.wait(1_000);
    await anInstance(tape, name);
  }
  await pagesOf(tape, 'list', { method: 'instances.list', arguments: { limit: 2, sort: 'name' } });
  await iterated(tape, { method: 'instances.iterate', arguments: { limit: 2, order: 'asc' } });
  await pagesByOffset(tape, { method: 'instances.iterate', arguments: { order: 'asc' } });
  const found: Call = {
    method: 'instances.list',
    arguments: { search: 'car', limit: 10, offset: 0 },
  };
  await tape.record('list: instances that match a search', found, { expect: { pages: 1 } });
  await filterCases(tape);
  const instance = await aLivedInstance(tape, 9);
  for (const kind of ['history', 'drift'] as const) {
    const call: Call = { method: `instance.${kind}`, instance, arguments: { limit: 4 } };
    await pagesOf(tape, kind, call);
    await iterated(tape, { ...call, method: `instance.iterate_${kind}` });
  }
  const whole: Call = { method: 'instance.drift', instance };
  await tape.record('drift: without limit and offset, in one answer', whole, {
    expect: { pages: 1 },
  });
  const every: Call = {
    method: 'instance.history',
    instance,
    arguments: { generation: 'all', limit: 1 },
  };
  await tape.record('history: of all generations', every);
  await shortPage(tape, instance);
}

/** Cases of filtered lists, and of the counts. */
async function filterCases(tape: Tape): Promise<void> {
  for (const name of ['Heidi', 'Ivan', 'Judy']) {
    await anInstance(tape, name, { tags: { team: 'docs & more', 'a.b': '' } });
  }
  await tape.service.recorded();
  const tags = { team: 'docs & more', 'a.b': '' };
  const filtered = { stress: ['LOW', 'MED'], drift: ['D0'], tags, sort: 'changed_at', limit: 2 };
  await pagesOf(tape, 'list with filters', { method: 'instances.list', arguments: filtered });
  const mode = { dominant_mode: ['None', 'Order'], limit: 1 };
  await tape.record('list: one of two modes', { method: 'instances.list', arguments: mode });
  await tape.record('fleet: counts and newest events', { method: 'instances.fleet' });
}

/** Records a call and all following pages, as `next()` requests the pages. */
export async function pagesOf(tape: Tape, name: string, call: Call): Promise<void> {
  const exchanges = await exchangesOf(tape, call);
  const [first] = exchanges;
  const pagination = typeof first?.answer === 'object' ? first.answer.body.pagination : undefined;
  tape.keep({
    ...{ name: `${name}: pages by next`, origin: 'recorded', key: tape.key, call, exchanges },
    expect: { items_of: exchanges.map((_, index) => index), pages: exchanges.length, pagination },
  });
}

async function iterated(tape: Tape, call: Call): Promise<void> {
  const exchanges = await exchangesOf(tape, call);
  tape.keep({
    ...{ name: `${call.method}: all pages`, origin: 'recorded', key: tape.key, call, exchanges },
    expect: { items_of: exchanges.map((_, index) => index) },
  });
}

/** Makes the calls for all pages of a list. Returns the exchanges. */
async function exchangesOf(tape: Tape, call: Call) {
  const exchanges = [await tape.exchange(call)];
  for (;;) {
    const { answer } = exchanges.at(-1) ?? {};
    if (typeof answer !== 'object') return exchanges;
    const next = nextOf(answer.body);
    if (next === undefined) return exchanges;
    const { offset: _, start: __, ...rest } = call.arguments ?? {};
    exchanges.push(await tape.exchange({ ...call, arguments: { ...rest, ...next } }));
  }
}

/** Returns the query fields for the next page. Undefined after the last page. */
function nextOf({ data, pagination }: Json): Record<string, Json> | undefined {
  const { offset, has_more, next_cursor } = pagination;
  // Every page of events has a cursor.
  if (next_cursor === null || (next_cursor !== undefined && has_more === false)) return undefined;
  if (next_cursor !== undefined) return { cursor: next_cursor };
  return has_more === true ? { offset: offset + data.length } : undefined;
}

/** Records the pages of a service before 1.1, with offsets and without cursors. */
async function pagesByOffset(tape: Tape, call: Call): Promise<void> {
  const exchanges = [];
  for (const offset of [undefined, 2, 4]) {
    const { request, answer } = await tape.exchange({
      ...call,
      arguments: { ...call.arguments, limit: 2, ...(offset === undefined ? {} : { offset }) },
    });
    if (typeof answer !== 'object') return;
    const { next_cursor: _, ...pagination } = answer.body.pagination;
    exchanges.push({ request, answer: { ...answer, body: { ...answer.body, pagination } } });
  }
  tape.keep({
    ...{ name: `${call.method}: all pages of an earlier release`, origin: 'composed' },
    ...{ key: tape.key, call: { ...call, arguments: { ...call.arguments, limit: 2 } }, exchanges },
    expect: { items_of: exchanges.map((_, index) => index) },
  });
}

/**
 * Records a page that the size limit shortens: fewer rows than `limit`, and a next page (interface
 * 4.2).
 */
async function shortPage(tape: Tape, instance: string): Promise<void> {
  const call: Call = { method: 'instance.iterate_history', instance, arguments: { limit: 4 } };
  const at = (rows: Record<string, Json>) => tape.exchange({ ...call, arguments: rows });
  const first = await at({ limit: 3 });
  if (typeof first.answer !== 'object') return;
  const { body } = first.answer;
  const { next_cursor: cursor } = body.pagination;
  const second = await at({ limit: 9, cursor });
  const short = {
    ...first.answer,
    body: { ...body, pagination: { ...body.pagination, limit: 4 } },
  };
  const request = (await tape.exchange(call)).request;
  const next = await at({ limit: 4, cursor });
  const exchanges = [
    { request, answer: short },
    { request: next.request, answer: second.answer },
  ];
  tape.keep({
    ...{ name: 'history: a page of fewer rows than its limit', origin: 'composed', key: tape.key },
    ...{ call, exchanges, expect: { items_of: [0, 1] } },
  });
}

/** Cases for personas, test, account, audit trail and billing. */
export async function accountCases(tape: Tape, buyer: string): Promise<void> {
  await tape.record('personas: the whole list', { method: 'personas.list' });
  await tape.record('personas: one persona in full', {
    method: 'personas.get',
    arguments: { id: 'persona_scholar' },
  });
  const questions = await tape.record('test: the questions', { method: 'tests.questions' });
  const answers = questions.questions.map(({ id, position }: Json) => {
    return { question_id: id, value: 1 + ((position * 7) % 5) };
  });
  const config = await tape.record('test: submitted answers', {
    method: 'tests.submit',
    arguments: { version: '1.0', answers },
  });
  await tape.record('create: with the initial_config of a test result', {
    method: 'instances.create',
    arguments: { name: 'Tested', initial_config: config.initial_config },
  });
  await tape.record('account: plan, usage and key', { method: 'account.get' });
  for (const name of ['Carol', 'Dave', 'Erin']) await anInstance(tape, name);
  const lines: Call = { method: 'audit.list', arguments: { limit: 3 } };
  await tape.record('audit: the newest lines', lines, { expect: { pages: 1 } });
  await tape.record('audit: the lines of one action', {
    method: 'audit.list',
    arguments: { action: 'instance.create', limit: 2 },
  });
  await pagesOf(tape, 'audit', { method: 'audit.list', arguments: { limit: 2 } });
  await iterated(tape, { method: 'audit.iterate', arguments: { action: 'instance', limit: 2 } });
  const urls = { success_url: 'https://app.example/done', cancel_url: 'https://app.example/no' };
  const checkout: Call = { method: 'billing.checkout', arguments: { plan: 'pro', ...urls } };
  await tape.record('billing: the checkout page', checkout, { key: buyer });
  const portal: Call = {
    method: 'billing.portal',
    arguments: { return_url: 'https://app.example/billing' },
  };
  await tape.record('billing: the portal page', portal, { key: buyer });
}
