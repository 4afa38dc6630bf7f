import type { FaultReason } from '#errors/error-reasons';
import { faultFor } from '#errors/fault';
import { anInstance, ORDER, processing } from '#test/clients/cases/endpoints';
import { expectedOf } from '#test/clients/cases/expected-of';
import { requestOfCall } from '#test/clients/cases/request-of-call';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, Json, WireAnswer } from '#test/clients/cases/wire-case';

/** Retryable reasons of a 503. */
const PASSING: readonly FaultReason[] = [
  'limiter_unavailable',
  'engine_unavailable',
  'audit_unavailable',
  'too_many_refused_keys',
  'too_many_unfinished_bodies',
  'overloaded',
  'billing_unavailable',
  'deadline_exceeded',
  'outcome_unknown',
  'shutting_down',
  'upgrade_in_progress',
  'index_rebuilding',
];

/** Error page of a proxy. */
const PAGE = '<html><head><title>502 Bad Gateway</title></head></html>';
const pageOf = (status: number): WireAnswer => {
  return { status, headers: { 'content-type': 'text/html' }, text: PAGE };
};

/** Answers that trigger a retry. */
export class Hindrances {
  readonly #tape: Tape;
  readonly #call: Call;

  /** Records refusals of `call`, which must cost a cycle. */
  constructor(tape: Tape, call: Call) {
    this.#tape = tape;
    this.#call = call;
  }

  /** Returns the service's refusal for a reason, with a retry delay of `waitS` seconds. */
  async of(reason: FaultReason | undefined, waitS = 0): Promise<WireAnswer> {
    const error = reason === undefined ? new Error('a bug') : faultFor(reason, reason);
    const ask = () => {
      throw error;
    };
    await using edge = await this.#tape.service.listen({ engine: { ask } });
    const request = requestOfCall(this.#call);
    const answer = await this.#tape.ask(request, this.#tape.key, {}, edge.address);
    if (answer.headers['retry-after'] === undefined) return answer;
    return waiting(answer, waitS);
  }
}

/** Returns the refusal with another retry delay, in the header and in the body. */
function waiting(answer: Exclude<WireAnswer, string>, waitS: number): WireAnswer {
  const headers = { ...answer.headers, 'retry-after': String(waitS) };
  const { body } = answer;
  const isInBody = body?.retry_after !== undefined;
  return { ...answer, headers, body: isInBody ? { ...body, retry_after: waitS } : body };
}

/** Cases of retried calls. `limited`: an API key without remaining requests in this minute. */
export async function retryCases(tape: Tape, limited: string): Promise<void> {
  const instance = await anInstance(tape);
  const rateLimited = await tape.ask(requestOfCall({ method: 'personas.list' }), limited);
  tape.service.wait(60_000);
  const hindrances = new Hindrances(tape, processing(instance));
  const observe = async (name: string, before: readonly WireAnswer[], more: Json = {}) => {
    tape.service.wait(5_000);
    const origin = 'composed';
    await tape.record(`process: ${name}`, processing(instance), { origin, before, ...more });
  };
  for (const reason of PASSING) {
    await observe(`retried after 503 ${reason}`, [await hindrances.of(reason)]);
  }
  await observe('retried after 429 rate_limited', [waiting(rateLimited, 0)]);
  const later = { expect: { takes_at_least_s: 1 } };
  await observe('retried after the delay of Retry-After', [waiting(rateLimited, 1)], later);
  await observe('retried after 500', [await hindrances.of(undefined)]);
  await observe('retried after 408', [await hindrances.of('request_timeout')]);
  await observe('retried after a connection closed without an answer', ['close']);
  const impatient = { client: { attempt_timeout_s: 1 } };
  await observe('retried after the attempt timeout', ['silence'], impatient);
  await observe('retried after a proxy page with 502', [pageOf(502)]);
  await observe('retried after a proxy page with 504', [pageOf(504)]);
  const cut = {
    status: 200,
    headers: JSON_TYPE,
    chunks: ['{"data":{"snap'],
    after: 'cut',
  } as const;
  await observe('retried after a truncated answer', [cut]);
  await observe('retried with the same key after three failures', [
    'close',
    await hindrances.of('outcome_unknown'),
    await hindrances.of('shutting_down'),
  ]);
  await replayCase(tape, instance);
  await giveUpCases(tape, instance, hindrances);
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** Case of a lost answer: the service applied the first attempt and replays its answer. */
async function replayCase(tape: Tape, instance: string): Promise<void> {
  tape.service.wait(5_000);
  const options = { idempotency_key: tape.newKey() };
  const call = processing(instance, ORDER, options);
  await tape.play(call);
  const name = 'process: the retry after a lost answer is a replay';
  await tape.record(name, call, { origin: 'provoked', before: ['close'] });
}

/** Cases of retryable calls that end with an error. */
async function giveUpCases(tape: Tape, instance: string, hindrances: Hindrances): Promise<void> {
  const call = processing(instance);
  const unsure = await hindrances.of('limiter_unavailable');
  const thrice = { before: [unsure, unsure], instead: unsure, client: { attempts_max: 3 } };
  await tape.record('process: an error after three attempts', call, {
    origin: 'composed',
    ...thrice,
  });
  const twice = { before: ['close'], instead: unsure, client: { attempts_max: 2 } } as const;
  const { error } = expectedOf(call, [{ request: requestOfCall(call), answer: unsure }]);
  await tape.record('process: an unknown outcome stays unknown', call, {
    ...{ origin: 'composed', ...twice },
    expect: { error: { ...error, may_have_happened: true } },
  });
  const slow = await hindrances.of('limiter_unavailable', 2);
  const hurried = { ...call, options: { timeout_s: 1.5 } };
  await tape.record('process: no wait for a delay beyond the deadline', hurried, {
    ...{ origin: 'composed', instead: slow },
  });
  const late = { ...call, options: { timeout_s: 0.5 } };
  await tape.record('process: no answer until the deadline', late, {
    ...{ origin: 'composed', instead: 'silence' },
    expect: { error: { class: 'DeadlineError', may_have_happened: true } },
  });
  await tape.record('process: a closed connection with one attempt', call, {
    ...{ origin: 'composed', instead: 'close', client: { attempts_max: 1 } },
    expect: { error: { class: 'ConnectionError', may_have_happened: true } },
  });
  const malformed = (status: number) => {
    return { error: { class: 'MalformedAnswerError', status, may_have_happened: true } };
  };
  await tape.record('process: a proxy page with 502 and one attempt', call, {
    ...{ origin: 'composed', instead: pageOf(502), client: { attempts_max: 1 } },
    expect: malformed(502),
  });
  await tape.record('process: a page with 200 is malformed and not retried', call, {
    ...{ origin: 'composed', instead: pageOf(200) },
    expect: malformed(200),
  });
}
