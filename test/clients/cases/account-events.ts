import { FEED_AGE_MS } from '#storage/ports/feeds';
import { aLivedInstance, anInstance, pagesOf } from '#test/clients/cases/endpoints';
import { OF_REFUSAL, Recording, SHUTTING_DOWN, streamed } from '#test/clients/cases/events';
import { requestOfCall } from '#test/clients/cases/request-of-call';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, Exchange, Json, WireAnswer } from '#test/clients/cases/wire-case';

/** Time after which the log keeps no older event, in milliseconds. */
const TOO_LATE_MS = FEED_AGE_MS + 3_600_000;

/** The block at the end of an answer, which moves a client past hidden events. */
const POSITION = /^id: [\w-]+\n\n$/;

/** Cases of the events of an account: pages, streams and gaps. */
export async function accountEventCases(tape: Tape): Promise<void> {
  const ada = await anInstance(tape);
  await tape.service.recorded();
  await aLivedInstance(tape, 4);
  await tape.service.recorded();
  tape.service.wait(5_000);
  await tape.play({ method: 'instances.update', arguments: { id: ada, name: 'Ada the second' } });
  await tape.play({ method: 'instances.delete', arguments: { id: ada } });
  await tape.service.recorded();
  await listCases(tape);
  await followCases(tape);
  await hiddenCase(tape);
  await gapCases(tape);
}

/** Cases of pages. */
async function listCases(tape: Tape): Promise<void> {
  const list = (args: Record<string, Json>): Call => ({ method: 'events.list', arguments: args });
  await pagesOf(tape, 'account events', list({ limit: 2 }));
  await pagesOf(tape, 'account events from the oldest', list({ start: 'oldest', limit: 3 }));
  await pagesOf(tape, 'account events, newest first', list({ order: 'desc', limit: 3 }));
  const types = ['deleted', 'contract_changed', 'mode_changed'];
  await tape.record('account events: of three types', list({ types }), { expect: { pages: 1 } });
  const newest = list({ start: 'newest' });
  await tape.record('account events: a page without events has a cursor', newest, {
    expect: { pages: 1 },
  });
  await tape.record('account events: no wait if there is an event', list({ wait: 8, limit: 1 }));
  const before: readonly WireAnswer[] = ['close'];
  await tape.record('account events: retried', list({ limit: 1 }), { origin: 'composed', before });
  await tape.record(
    'account events: a cursor of another account',
    list({ cursor: 'WzEsMCwwLDBd' }),
  );
}

/** Cases of streams without gaps. */
async function followCases(tape: Tape): Promise<void> {
  const follow = (args: Record<string, Json>): Call => ({
    ...{ method: 'events.follow', arguments: args },
  });
  const call = follow({ start: 'oldest' });
  const { headers, blocks } = await recordingOf(tape, call);
  const whole = streamed(headers, blocks, 'open');
  keep(tape, 'follow: events of two instances', call, [whole], 'recorded');
  const position = /^id: (.+)$/m.exec(blocks[2] ?? '')?.[1];
  const after = follow({ cursor: position });
  const rest = await recordingOf(tape, after);
  const resumed = streamed(rest.headers, rest.blocks, 'open');
  keep(tape, 'follow: after a stored cursor', after, [resumed], 'recorded');
  const half = `${blocks[3]}`.slice(0, 40);
  const cut = streamed(headers, [...blocks.slice(0, 3), half], 'cut');
  const refused = { status: 503, headers: { 'retry-after': '0', ...OF_REFUSAL } };
  const down = { ...refused, body: SHUTTING_DOWN };
  const end = streamed(headers, blocks.slice(0, 3), 'end');
  keep(tape, 'follow: resume after a cut connection', call, [cut, resumed], 'composed');
  keep(
    tape,
    'follow: resume after drain and refusals',
    call,
    [end, down, 'close', resumed],
    'composed',
  );
  const later = 'event: compacted\ndata: {"rows":7}\n\n';
  const unknown = streamed(headers, [later, ...blocks], 'open');
  keep(tape, 'follow: a message of a later release', call, [unknown], 'composed');
}

/** Case of a stream whose position moves past events that a filter hides. */
async function hiddenCase(tape: Tape): Promise<void> {
  const filter = { types: ['created'] };
  const call: Call = { method: 'events.follow', arguments: { ...filter, start: 'oldest' } };
  const first = await recordingOf(tape, call);
  const cursor = /^id: (.+)\n\n$/.exec(first.blocks.at(-1) ?? '')?.[1];
  await anInstance(tape, 'Carol');
  await tape.service.recorded();
  const rest = await recordingOf(tape, { ...call, arguments: { ...filter, cursor } });
  const cut = streamed(first.headers, first.blocks, 'cut');
  const name = 'follow: resume behind events that types hides';
  keep(tape, name, call, [cut, streamed(rest.headers, rest.blocks, 'open')], 'composed');
}

/** Cases of readers that are too late. */
async function gapCases(tape: Tape): Promise<void> {
  const list: Call = { method: 'events.list', arguments: { start: 'newest' } };
  const { answer: page } = await tape.exchange(list);
  const cursor = typeof page === 'string' ? '' : page.body.pagination.next_cursor;
  await anInstance(tape, 'Missed');
  await tape.service.recorded();
  tape.service.wait(TOO_LATE_MS);
  await anInstance(tape, 'Bob');
  await tape.service.recorded();
  const expired: Call = { method: 'events.list', arguments: { cursor } };
  await tape.record('account events: an expired cursor', expired);
  const call: Call = { method: 'events.follow', arguments: { cursor } };
  const { headers, blocks } = await recordingOf(tape, call);
  const answer = streamed(headers, blocks, 'open');
  keep(tape, 'follow: a gap', call, [answer], 'recorded');
  const { answer: gone } = await tape.exchange(expired);
  const oldest = streamed(
    headers,
    blocks.filter((block) => !block.includes('event: gap')),
    'open',
  );
  keep(tape, 'follow: an expired cursor is a gap', call, [gone, oldest], 'composed');
}

/** Records the first answer of a stream. */
async function recordingOf(tape: Tape, call: Call): Promise<Recording> {
  const recording = await Recording.open(tape, call);
  await recording.until(POSITION);
  await recording.leave();
  return recording;
}

/** Adds the case of a stream, which expects the items of all answers in order. */
function keep(
  tape: Tape,
  name: string,
  call: Call,
  answers: readonly WireAnswer[],
  origin: 'recorded' | 'composed',
): void {
  const { query, ...request } = requestOfCall(call);
  const exchanges: Exchange[] = [];
  const events: Json[] = [];
  let cursor: string | undefined = call.arguments?.['cursor'];
  let from: WireRequestParts = { query, id: cursor };
  for (const answer of answers) {
    const headers = { ...request.headers, 'last-event-id': from.id ?? null };
    exchanges.push({ request: { ...request, query: from.query, headers }, answer });
    if (typeof answer === 'object' && answer.status === 410) {
      events.push({ event: 'gap', id: cursor });
      from = { query: { ...query, start: 'oldest' }, id: undefined };
    }
    for (const { event, id, data } of blocksIn(answer)) {
      cursor = id ?? cursor;
      from = { ...from, id: cursor };
      if (event === 'gap') events.push({ event, id: cursor });
      else if (data?.id !== undefined) events.push({ event, id: cursor, data });
    }
  }
  const expect = {
    events,
    ends: false,
    ...(cursor === undefined ? {} : { last_event_id: cursor }),
  };
  tape.keep({ name, origin, key: tape.key, call, exchanges, expect });
}

type WireRequestParts = { readonly query: Record<string, string>; readonly id: string | undefined };

/** Complete blocks of a stream. */
function blocksIn(answer: WireAnswer): { event?: string; id?: string; data?: Json }[] {
  const text = typeof answer === 'string' ? '' : (answer.chunks ?? []).join('');
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.map((block) => {
    const fields = Object.fromEntries(block.split('\n').map(fieldIn));
    return { ...fields, ...('data' in fields ? { data: JSON.parse(fields['data'] ?? '') } : {}) };
  });
}

function fieldIn(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 2)];
}
