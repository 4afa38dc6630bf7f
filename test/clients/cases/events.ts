import { systemClock, withinMs } from '#stdlib/clock';
import { anInstance, ORDER, processing } from '#test/clients/cases/endpoints';
import { OF_CONNECTIONS } from '#test/clients/cases/raw-answer';
import { requestOfCall } from '#test/clients/cases/request-of-call';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, Exchange, Json, WireAnswer } from '#test/clients/cases/wire-case';
import { eventsIn } from '#test/support/calls/event-reader';

type After = 'end' | 'cut' | 'open';

/** Timeout for the next block of a recorded stream, in milliseconds. */
const EVENT_MS_MAX = 60_000;

/** Records the blocks of a stream. */
export class Recording {
  readonly headers: Readonly<Record<string, string>>;
  readonly blocks: string[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #rest = '';

  private constructor(response: Response) {
    const kept = [...response.headers].filter(([name]) => !OF_CONNECTIONS.has(name)).sort();
    this.headers = Object.fromEntries(kept);
    if (response.body === null) throw new Error('the stream has no body');
    this.#reader = response.body.getReader();
  }

  static async open(tape: Tape, call: Call): Promise<Recording> {
    const { path, query, headers } = requestOfCall(call);
    const authorization = `Bearer ${tape.key}`;
    const all = { authorization, 'x-request-id': 'req_of_a_stream', ...headers };
    const given = Object.entries(all).flatMap(([name, value]) =>
      value === null ? [] : [[name, value]],
    );
    const url = `${tape.url}${path}?${new URLSearchParams(query)}`;
    return new Recording(await fetch(url, { headers: Object.fromEntries(given) }));
  }

  /** Reads until a further block matches this text. Throws if the stream ends first. */
  async until(text: string | RegExp): Promise<void> {
    const from = this.blocks.length;
    while (!this.blocks.slice(from).some((block) => block.search(text) >= 0)) {
      const { done, value } = await withinMs(systemClock, EVENT_MS_MAX, this.#reader.read(), () => {
        const last = this.blocks.at(-1) ?? 'no block';
        return new Error(`no ${text} arrived after ${last}`);
      });
      if (done) throw new Error(`the stream ended before ${text}`);
      const parts = `${this.#rest}${this.#decoder.decode(value, { stream: true })}`.split('\n\n');
      this.#rest = parts.pop() ?? '';
      this.blocks.push(...parts.map((block) => `${block}\n\n`));
    }
  }

  async leave(): Promise<void> {
    await this.#reader.cancel();
  }
}

/** Cases of event streams. */
export async function eventCases(tape: Tape): Promise<void> {
  const instance = await anInstance(tape, 'Followed');
  const events: Call = { method: 'instance.events', instance };
  const first = await Recording.open(tape, events);
  await first.until('event: state');
  for (let cycle = 0; cycle < 2; cycle += 1) {
    tape.service.wait(5_000);
    await tape.play(processing(instance, { ...ORDER, context: { cycle } }));
    await first.until('event: state');
  }
  await tape.play({ method: 'instance.reset', instance, arguments: { mode: 'initial' } });
  await first.until('event: state');
  const { headers } = first;
  const recorded = streamed(headers, first.blocks, 'open');
  tape.keep(caseOf(tape, 'events: state, cycles and a reset', events, [recorded], false));
  tape.service.wait(5_000);
  await tape.play(processing(instance));
  await first.until('event: state');
  await tape.play({ method: 'instances.delete', arguments: { id: instance } });
  await first.until('event: deleted');
  const whole = streamed(headers, first.blocks, 'end');
  tape.keep(caseOf(tape, 'events: up to the end of the instance', events, [whole], true));
  const blocks = first.blocks.filter(
    (block, index) => index < 3 || !block.includes('event: state'),
  );
  const options = { headers: { 'X-Game': 'blue' } };
  const state = streamed(headers, first.blocks.slice(0, 3), 'open');
  const marked: Call = { ...events, options };
  tape.keep(caseOf(tape, 'events: with an extra header', marked, [state], false));
  await reconnectCases(tape, events, headers, blocks);
  await textCases(tape, events, headers, blocks);
  await resumeCase(tape);
}

/** Returns an answer that sends these parts of a stream. */
export function streamed(headers: Json, chunks: readonly string[], after: After): WireAnswer {
  return { status: 200, headers, chunks: chunks.map(hurried), after };
}

/** Shortens the reconnection delay in a block, so that a test run takes only seconds. */
function hurried(block: string): string {
  return block.replace(/^retry: \d+/m, 'retry: 20');
}

/** Makes the case of a stream, which expects the events of all answers in order. */
function caseOf(
  tape: Tape,
  name: string,
  call: Call,
  answers: readonly WireAnswer[],
  ends: boolean,
) {
  const request = requestOfCall(call);
  const exchanges: Exchange[] = [];
  let last: string | undefined;
  for (const answer of answers) {
    const resumed = last === undefined ? {} : { 'last-event-id': last };
    const headers = { ...request.headers, ...resumed };
    exchanges.push({ request: { ...request, headers }, answer });
    last = lastIdIn(answer) ?? last;
  }
  const events = answers.flatMap(eventsOf).map((event) => shownOnce(event, answers.length > 1));
  const at = last === undefined ? {} : { last_event_id: last };
  const expect = { events, ends, ...at };
  return { name, origin: 'recorded' as const, key: tape.key, call, exchanges, expect };
}

/**
 * Maximum length of an event that a case with several answers expects with its data, in characters.
 * Such a case tests the order of events; other cases test long data.
 */
const DATA_CHARACTERS_MAX = 200;

function shownOnce(event: Json, isOfSeveral: boolean): Json {
  const isLong = JSON.stringify(event).length > DATA_CHARACTERS_MAX;
  return isOfSeveral && isLong ? { ...event, data: undefined } : event;
}

/** Text of the complete blocks of an answer, without a final partial block. */
function textIn(answer: WireAnswer): string {
  const text = typeof answer === 'string' ? '' : (answer.chunks ?? []).join('');
  return text.slice(0, text.lastIndexOf('\n\n') + 2);
}

function eventsOf(answer: WireAnswer): Json[] {
  return eventsIn(textIn(answer)).flatMap(({ event, id, data }) => {
    if (event === undefined) return [];
    return [{ event, ...(id === undefined ? {} : { id: String(id) }), data }];
  });
}

function lastIdIn(answer: WireAnswer): string | undefined {
  return [...textIn(answer).matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
}

/** Cases of streams that break and resume. */
async function reconnectCases(tape: Tape, call: Call, headers: Json, blocks: readonly string[]) {
  const cycle = blocks.findIndex((block) => block.includes('event: cycle'));
  const [before, behind] = [blocks.slice(0, cycle + 1), blocks.slice(cycle + 1)];
  const retry = 'retry: 20\n\n';
  const rest = streamed(headers, [retry, ...behind], 'end');
  const composed = (name: string, answers: readonly WireAnswer[], more: Json = {}) => {
    const made = caseOf(tape, name, call, answers, true);
    tape.keep({ ...made, origin: 'composed', expect: { ...made.expect, ...more } });
  };
  const name = 'events: resume after the last id, after';
  composed(`${name} a cut connection`, [streamed(headers, before, 'cut'), rest]);
  composed(`${name} the end of a stream`, [streamed(headers, before, 'end'), rest]);
  composed(`${name} a refused reconnect`, [
    streamed(headers, before, 'cut'),
    { status: 503, headers: { 'retry-after': '0', ...OF_REFUSAL }, body: SHUTTING_DOWN },
    'close',
    rest,
  ]);
  const half = (before.at(-1) ?? '').slice(0, 40);
  const broken = streamed(headers, [...before.slice(0, -1), half], 'cut');
  composed('events: an incomplete event is dropped', [
    broken,
    streamed(headers, [retry, ...blocks.slice(cycle)], 'end'),
  ]);
  const slow = {
    status: 200,
    headers,
    chunks: [...before, 'retry: 1000\n\n'],
    after: 'end',
  } as const;
  composed('events: reconnect after the delay of retry', [slow, rest], {
    takes_at_least_s: 1,
  });
  const gone = {
    status: 404,
    headers: OF_REFUSAL,
    body: { error: 'not_found', message: 'no such instance' },
  };
  const absent = caseOf(
    tape,
    'events: reconnect to a deleted instance',
    call,
    [streamed(headers, before, 'cut'), gone],
    true,
  );
  tape.keep({
    ...absent,
    ...{ origin: 'composed', expect: { ...absent.expect, error: { class: 'NotFoundError' } } },
  });
}

/** Headers of a refusal. The request id shows that the service sent the answer (interface 2.1). */
export const OF_REFUSAL = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': 'req_of_a_refused_stream',
};
/** Body of a refusal while the service is shutting down. */
export const SHUTTING_DOWN = {
  ...{ error: 'service_unavailable', message: 'the server is shutting down' },
  details: { reason: 'shutting_down', request_id: 'req_of_a_stream' },
};

/** Records a stream that exceeds the maximum number of streams per key: the client retries. */
async function tooManyCase(tape: Tape, call: Call, headers: Json, state: string): Promise<void> {
  const open = new AbortController();
  const url = `${tape.url}${requestOfCall(call).path}`;
  const authorization = `Bearer ${tape.key}`;
  for (let stream = 0; stream < STREAMS_OF_A_KEY; stream += 1) {
    await fetch(url, { headers: { authorization }, signal: open.signal });
  }
  const refused = await tape.ask(requestOfCall(call), tape.key);
  open.abort();
  const now = { ...refused, headers: { ...refused.headers, 'retry-after': '0' } };
  const stream = streamed(headers, [state], 'open');
  const name = 'events: retry while too many streams are open';
  tape.keep({ ...caseOf(tape, name, call, [now, stream], false), origin: 'composed' });
}

/** Maximum streams per key. Source: interface 6.5. */
const STREAMS_OF_A_KEY = 20;

/** Cases of stream syntax. */
async function textCases(tape: Tape, call: Call, headers: Json, blocks: readonly string[]) {
  const state = blocks.find((block) => block.includes('event: state')) ?? '';
  const gap = 'event: gap\ndata: {"from":1,"to":40}\n\n';
  const composed = (name: string, chunks: readonly string[], ends: boolean) => {
    const made = caseOf(tape, name, call, [streamed(headers, chunks, ends ? 'end' : 'open')], ends);
    tape.keep({ ...made, origin: 'composed' });
  };
  const deleted = 'event: deleted\ndata: {}\n\n';
  composed('events: a gap', [gap, state], false);
  composed(
    'events: comments are ignored',
    [': keep-alive\n\n', state, ': keep-alive\n\n', deleted],
    true,
  );
  composed(
    'events: an event of a later release',
    ['id: 7\nevent: mood\ndata: {"valence":0.5}\n\n', deleted],
    true,
  );
  const pieces = [...blocks.join('').matchAll(/[\s\S]{1,97}/g)].map(([piece]) => hurried(piece));
  composed('events: blocks split at any byte', pieces, true);
  const crlf = blocks.map((block) => block.replaceAll('\n', '\r\n'));
  const answer = streamed(headers, crlf, 'end');
  const plain = caseOf(
    tape,
    'events: lines that end in CR LF',
    call,
    [streamed(headers, blocks, 'end')],
    true,
  );
  const [exchange] = plain.exchanges;
  if (exchange !== undefined) {
    tape.keep({ ...plain, origin: 'composed', exchanges: [{ ...exchange, answer }] });
  }
  for (const status of [401, 403]) {
    const code = status === 401 ? 'unauthorized' : 'forbidden';
    const error = { class: status === 401 ? 'UnauthorizedError' : 'ForbiddenError', code, status };
    const refused = { status, headers: OF_REFUSAL, body: { error: code, message: 'not this key' } };
    const made = caseOf(tape, `events: ${status} ends the iteration`, call, [refused], true);
    tape.keep({ ...made, origin: 'composed', expect: { events: [], ends: true, error } });
  }
}

/** Case of a stream that starts after an ordinal of the caller. */
async function resumeCase(tape: Tape): Promise<void> {
  const instance = await anInstance(tape, 'Resumed');
  for (let cycle = 0; cycle < 4; cycle += 1) {
    tape.service.wait(5_000);
    await tape.play(processing(instance, { ...ORDER, context: { cycle } }));
  }
  const call: Call = { method: 'instance.events', instance, arguments: { after: 2 } };
  const recording = await Recording.open(tape, call);
  await recording.until('event: state');
  await recording.leave();
  const answer = streamed(recording.headers, recording.blocks, 'open');
  tape.keep(caseOf(tape, 'events: after an ordinal', call, [answer], false));
  const state = recording.blocks.find((block) => block.includes('event: state')) ?? '';
  const events: Call = { method: 'instance.events', instance };
  await tooManyCase(tape, events, recording.headers, state);
}
