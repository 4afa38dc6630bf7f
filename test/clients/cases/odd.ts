import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { EdgePorts } from '#edge/app';
import { type FaultReason, httpOfReason } from '#errors/error-reasons';
import { Fault, faultFor } from '#errors/fault';
import { anInstance, ORDER, processing } from '#test/clients/cases/endpoints';
import { answerIn } from '#test/clients/cases/raw-answer';
import { requestOfCall } from '#test/clients/cases/request-of-call';
import type { OddRequest, Tape } from '#test/clients/cases/tape';
import type { Call } from '#test/clients/cases/wire-case';

/** Options of a client without retries, for refusals that a retry would receive again. */
const ONCE = { attempts_max: 1 };

/** Requests that clients never send, by the reason of the refusal. */
const ODD: Readonly<Partial<Record<FaultReason, OddRequest>>> = {
  malformed_json: { body: '{"mode_target": ' },
  duplicate_key: { body: '{"mode_target": "ORDER", "mode_target": "ORDER"}' },
  invalid_utf8: { body: Buffer.from('{"mode_target": "\xff"}', 'latin1') },
  body_too_large: { body: ' '.repeat(256 * 1_024 + 1) },
  unsupported_media_type: { headers: { 'content-type': 'text/plain' } },
  missing_field: { body: '{"mode_target": "ORDER"}' },
  unknown_field: { body: JSON.stringify({ ...ORDER, mood: 1 }) },
  wrong_type: { body: JSON.stringify({ ...ORDER, signal_strength: '0.7' }) },
  unknown_value: { body: JSON.stringify({ ...ORDER, mode_target: 'JOY' }) },
  too_deep: { body: `{"context": ${'{"a":'.repeat(30)}1${'}'.repeat(30)}}` },
  unknown_parameter: { query: 'verbose=1' },
  invalid_header: { headers: { 'idempotency-key': 'x'.repeat(256) } },
};

/**
 * Cases with answers to requests that no client sends. Each case contains a normal request in place
 * of the sent request.
 */
export async function oddRequestCases(tape: Tape): Promise<void> {
  const call = processing(await anInstance(tape));
  for (const [reason, odd] of Object.entries(ODD)) {
    const instead = await tape.ask(requestOfCall(call), tape.key, odd);
    const name = `${instead.status}: ${reason} (no client sends that)`;
    await tape.record(name, call, { origin: 'provoked', instead });
  }
  const create: Call = { method: 'instances.create', arguments: { name: 'Ada' } };
  const half = { body: '{"name": "A\\ud800a"}' };
  const ill = await tape.ask(requestOfCall(create), tape.key, half);
  const asWell = { origin: 'provoked', instead: ill } as const;
  await tape.record('422: invalid_text (no client sends that)', create, asWell);
  const question = { answers: [{ question_id: 'q99', value: 3 }] };
  const submit: Call = { method: 'tests.submit', arguments: question };
  const unknown = await tape.ask(requestOfCall(submit), tape.key);
  const known: Call = { ...submit, arguments: { answers: [{ question_id: 'q01', value: 3 }] } };
  const asKnown = { origin: 'provoked', instead: unknown } as const;
  await tape.record('422: unknown_question (no client sends that)', known, asKnown);
}

/** Raw bytes that the HTTP server refuses, by the reason of the refusal. */
const BROKEN: Readonly<Partial<Record<FaultReason, (key: string) => string>>> = {
  malformed_request: () => 'nonsense\r\n\r\n',
  uri_too_long: (key) => `GET /v1/personas/${'x'.repeat(300)} HTTP/1.1${auth(key)}`,
  expectation_failed: (key) => `GET /v1/personas HTTP/1.1\r\nExpect: wonders${auth(key)}`,
  headers_too_large: (key) =>
    `GET /v1/personas HTTP/1.1\r\nX-Long: ${'x'.repeat(20_000)}${auth(key)}`,
  http_version_not_supported: (key) => `GET /v1/personas HTTP/1.0${auth(key)}`,
};

const auth = (key: string) =>
  `\r\nHost: localhost\r\nX-Request-Id: req_broken_http\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Cases with answers to malformed HTTP, which only a proxy could cause. */
export async function brokenHttpCases(tape: Tape): Promise<void> {
  const call: Call = { method: 'personas.get', arguments: { id: 'persona_leader' } };
  for (const [reason, bytesOf] of Object.entries(BROKEN)) {
    const { hostname, port } = new URL(tape.url);
    const socket = connect({ host: hostname, port: Number(port) });
    await once(socket, 'connect');
    socket.write(bytesOf(tape.key));
    // End the input: the server would otherwise wait for more bytes.
    socket.end();
    const answer = answerIn(await buffer(socket));
    const headers = { ...answer.headers, 'x-request-id': 'req_broken_http' };
    const body = { ...answer.body };
    if (answer.status >= 500) body.details = { ...body.details, request_id: 'req_broken_http' };
    const instead = { ...answer, headers, body };
    const name = `${answer.status}: ${reason} (no client sends that)`;
    await tape.record(name, call, { origin: 'provoked', instead, client: ONCE });
  }
}

/** Engine failures: reason, error text, and whether the call may have taken effect. */
const OF_ENGINES: readonly [FaultReason, string, boolean][] = [
  ['engine_unavailable', 'the engine did not answer', true],
  ['deadline_exceeded', 'the call took too long', true],
  ['outcome_unknown', 'the call may have been made', true],
  ['overloaded', 'the engine has too much to do', false],
  ['shutting_down', 'the engine is shutting down', false],
  ['upgrade_in_progress', 'an upgrade is in progress', false],
];

/**
 * Refusals that only a flood of calls or a broken part of the service causes. Their texts are
 * written by hand.
 */
const WRITTEN: readonly [FaultReason, string][] = [
  ['request_timeout', 'the request took too long to arrive'],
  ['audit_unavailable', 'the audit trail cannot be written'],
  ['audit_full', 'the audit trail of this month is full'],
  ['too_many_refused_keys', 'too many requests with refused keys from this network'],
  ['too_many_unfinished_bodies', 'too many bodies are unfinished'],
  ['billing_unavailable', 'the payment provider cannot be reached'],
  ['already_exists', 'the account has a subscription'],
];

/** Cases with answers from a service with a failing part. */
export async function failingPartCases(tape: Tape): Promise<void> {
  const call = processing(await anInstance(tape));
  const failing = async (name: string, parts: Partial<EdgePorts>, asked: Call = call) => {
    await using edge = await tape.service.listen(parts);
    await tape.record(name, asked, { origin: 'provoked', client: ONCE, edge: edge.address });
  };
  const limiter = failingWith(new Fault('service_unavailable', 'no limiter answers'));
  await failing('503: limiter_unavailable', { limiter });
  for (const [reason, message, isOutcomeUnknown] of OF_ENGINES) {
    const engine = failingWith(faultFor(reason, message, { isOutcomeUnknown }));
    await failing(`503: ${reason}`, { engine });
  }
  const rebuilt = faultFor('index_rebuilding', 'the index of the account is being built');
  const counts: Call = { method: 'instances.fleet' };
  await failing('503: index_rebuilding', { engine: failingWith(rebuilt) }, counts);
  const crowded = faultFor('too_many_tags', 'the account has too many different tags');
  await failing('409: too_many_tags', { engine: failingWith(crowded) }, counts);
  const before = faultFor('engine_unavailable', 'no engine has the instance');
  await failing('503: engine_unavailable before the call was sent', {
    engine: failingWith(before),
  });
  await failing('500: internal', { engine: failingWith(new Error('a bug, for example')) });
  await writtenCases(tape, call);
}

/** Reasons that are recorded with a checkout, because they never refuse an observation. */
const OF_CHECKOUT: ReadonlySet<FaultReason> = new Set([
  'audit_unavailable',
  'billing_unavailable',
  'already_exists',
]);

async function writtenCases(tape: Tape, call: Call): Promise<void> {
  const asWritten = async (name: string, fault: Fault, of: Call) => {
    await using edge = await tape.service.listen({ engine: failingWith(fault) });
    const instead = await tape.ask(requestOfCall(call), tape.key, {}, edge.address);
    await tape.record(name, of, { origin: 'composed', instead, client: ONCE });
  };
  const urls = { success_url: 'https://app.example/done', cancel_url: 'https://app.example/no' };
  const checkout: Call = { method: 'billing.checkout', arguments: { plan: 'pro', ...urls } };
  const create: Call = { method: 'instances.create', arguments: { name: 'Ada' } };
  for (const [reason, message] of WRITTEN) {
    const fault = faultFor(reason, message);
    const of = reason === 'audit_full' ? create : OF_CHECKOUT.has(reason) ? checkout : call;
    await asWritten(`${httpOfReason(reason) ?? fault.httpStatus}: ${reason}`, fault, of);
  }
  const past: Call = { ...call, method: 'instance.states', arguments: { cycles: [3] } };
  for (const reason of ['state_not_stored', 'replay_mismatch'] as const) {
    const options = reason === 'state_not_stored' ? { firstCycle: 256 } : {};
    await asWritten(`409: ${reason}`, faultFor(reason, 'no state of cycle 3', options), past);
  }
  const unsold = new Fault('billing_provider_not_configured', 'no payment provider is set up');
  await asWritten('500: billing_provider_not_configured', unsold, checkout);
}

function failingWith(error: Error): { ask(): never } {
  return {
    ask() {
      throw error;
    },
  };
}
