import type { FastifyReply, FastifyRequest } from 'fastify';
import type { NeededRight } from '#accounts/api-key';
import { monthLinesMax } from '#audit/trail';
import {
  type Admission,
  type AdmissionCall,
  type Admitted,
  shownAddress,
} from '#edge/callers/admission';
import type {
  AccountCaller,
  AccountPorts,
  CheckedRequest,
  Endpoint,
  LocalHandler,
} from '#edge/endpoints/endpoint';
import type { StreamEnd } from '#edge/events/event-stream';
import type { EventStreams } from '#edge/events/open-streams';
import { serveStream } from '#edge/events/serve-stream';
import {
  type Caller,
  type Exchange,
  exchangeOf,
  type Headers,
  isKnownToCaller,
  isPreferred,
  UNSURE_RESET_S,
} from '#edge/http';
import { type AccountAudit, AuditedCall } from '#edge/serve/account';
import type { CallIds, EdgeAnswer, EngineCalls } from '#edge/serve/engine-calls';
import type { Reply } from '#edge/serve/reply';
import { planRequest, type RequestPlan } from '#edge/serve/request-plan';
import { type Fault, faultFor, toFault } from '#errors/fault';
import { bodyText, plainAnswer } from '#grpc/engine-messages';
import type { Allowance, CallName } from '#grpc/limiter-messages';
import type { Clock } from '#stdlib/clock';
import { traced } from '#telemetry/tracer';

/** `serve` dependencies. */
export type ServePorts = {
  /** Path prefix for all endpoints. */
  readonly prefix: string;
  readonly admission: Admission;
  readonly engine: EngineCalls;
  readonly callIds: CallIds;
  readonly clock: Clock;
  readonly reply: Reply;
  readonly streams: EventStreams;
  /** Ports for account endpoint handlers. */
  readonly account: AccountPorts;
  /** Counts admitted calls without an answer. */
  readonly inFlight: { calls: number };
};

/** Handler kinds that need the caller's key description. */
const OF_KEY: ReadonlySet<string> = new Set(['account', 'stream']);

type Planned = Exclude<RequestPlan, { kind: 'refused' | 'stream' }>;

/**
 * Serves a request to an endpoint, from admission to answer. Rejects only if the code has a bug.
 *
 * Order (decision 35): first ask the limiter, then refuse an invalid request, then ask the engine.
 * Finally, settle with the limiter, to charge only the cycles that advanced.
 */
export async function serve(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  exchange: Exchange,
  ports: ServePorts,
): Promise<void> {
  const { caller } = exchange;
  if (caller === undefined) throw new Error('the request is not authenticated');
  const plan = planRequest(endpoint, request, ports.clock.wallMs());
  const { callId, callTag } = nameOf(plan, request, caller, ports.callIds);
  const call: AdmissionCall = {
    caller,
    address: request.ip,
    userAgent: request.headers['user-agent'],
    callId,
    callTag,
    isKeyed: plan.kind === 'command' && plan.idempotency !== undefined,
    scope: neededScope(endpoint),
    cycles: plan.kind === 'command' ? plan.cycles : 0,
    isCallerDescribed: caller.member === undefined && describesKey(endpoint),
    traceparent: exchange.trace?.traceparent,
  };
  const admitted = await ports.admission.admit(call);
  if (admitted.refusal !== undefined) {
    const replayed = await replayOf(admitted, plan, call, request, ports);
    if (replayed !== undefined) answer(endpoint, request, reply, replayed, admitted.headers, ports);
    else ports.reply.refuse(request, reply, endpoint, admitted.refusal, admitted.headers);
    return;
  }
  if (plan.kind === 'refused') {
    ports.reply.refuse(request, reply, endpoint, plan.fault, admitted.headers);
    return;
  }
  ports.inFlight.calls += 1;
  const audited = auditedCall(endpoint, exchange, call, admitted, ports.account.audit);
  try {
    if (plan.kind === 'stream') {
      const { command } = plan;
      await serveStream({ endpoint, request, reply, call, command, admitted }, ports);
      return;
    }
    const performed = () => perform(plan, call, admitted, request, ports, audited);
    const answered = presented(plan, await inPlace(plan, caller, performed, ports));
    await audited?.answered(answered);
    const headers = await headersAfter(call, answered, admitted, ports);
    answer(endpoint, request, reply, answered, headers, ports);
  } catch (error) {
    const fault = toFault(error);
    await audited?.ended(fault.code);
    const isGivenBack = call.cycles > 0 && !fault.isOutcomeUnknown && fault.code !== 'internal';
    const headers = isGivenBack
      ? await ports.admission.settle(call, 0, admitted)
      : admitted.headers;
    ports.reply.refuse(request, reply, endpoint, fault, headers);
  } finally {
    ports.inFlight.calls -= 1;
  }
}

/**
 * Performs a call. A call that waits for events takes the place of a stream, so that no caller
 * takes all places.
 */
function inPlace<T>(
  plan: Planned,
  caller: Caller,
  perform: () => T | Promise<T>,
  { streams }: ServePorts,
): T | Promise<T> {
  return waits(plan) ? untilEnded(streams, caller, perform) : perform();
}

async function untilEnded<T>(
  streams: EventStreams,
  caller: Caller,
  perform: () => T | Promise<T>,
): Promise<T> {
  using place = streams.reserve(caller);
  return await Promise.race([perform(), place.over.then(endedWait)]);
}

/** Throws the refusal of a call that may no longer wait. */
function endedWait(why: StreamEnd): never {
  const options = { retryAfterS: 1 };
  if (why === 'drain') throw faultFor('shutting_down', 'the server is stopping; retry', options);
  throw faultFor('deadline_exceeded', 'the account has changed; send the call again', options);
}

/** Whether the call waits for events. */
function waits(plan: Planned): boolean {
  return plan.kind === 'command' && plan.command.kind === 'readFeed' && plan.command.waitMs > 0;
}

function neededScope({ name, scope }: Endpoint): NeededRight {
  if (scope === 'none') throw new Error(`${name} is served without a caller`);
  return scope;
}

function describesKey({ handler, auditedAs }: Endpoint): boolean {
  return OF_KEY.has(handler.kind) || auditedAs !== undefined;
}

/** A call's audit lines; undefined if the endpoint is not audited. */
function auditedCall(
  { auditedAs: action }: Endpoint,
  { requestId }: Exchange,
  { caller, address }: AdmissionCall,
  { description, allowance }: Admitted,
  audit: AccountAudit,
): AuditedCall | undefined {
  if (action === undefined) return undefined;
  const { accountId, member } = caller;
  const actor =
    member === undefined
      ? ({ kind: 'key', id: description?.keyId } as const)
      : ({ kind: 'user', id: member.userId, session: member.sessionId } as const);
  const entry = { actor, address: shownAddress(address), requestId, action };
  return new AuditedCall(audit, accountId, entry, monthLinesMax(allowance?.cyclesPerMonth ?? 0));
}

/** Answer headers, after unused cycles are refunded. */
async function headersAfter(
  call: AdmissionCall,
  answered: EdgeAnswer,
  admitted: Admitted,
  { admission }: ServePorts,
): Promise<Headers> {
  if (!isSettled(call, answered)) return admitted.headers;
  return await admission.settle(call, answered.cycles, admitted);
}

/** Whether the used cycles are certain. If not, the reservation expires as used. */
function isSettled({ cycles }: AdmissionCall, { isPerhapsOwn }: EdgeAnswer): boolean {
  return cycles > 0 && isPerhapsOwn !== true;
}

function nameOf(
  plan: RequestPlan,
  request: FastifyRequest,
  caller: Caller,
  callIds: CallIds,
): CallName {
  if (plan.kind !== 'command' || plan.idempotency === undefined) {
    return { callId: callIds.next(), callTag: 0 };
  }
  return callIds.ofKey(caller, plan.command, idOf(request), plan.idempotency.key);
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id?: string }).id ?? '';
}

/**
 * The stored answer to a keyed call that the quota refuses; undefined if no answer is stored
 * (decision 22).
 */
async function replayOf(
  { refusal }: Admitted,
  plan: RequestPlan,
  call: AdmissionCall,
  request: FastifyRequest,
  ports: ServePorts,
): Promise<EdgeAnswer | undefined> {
  if (refusal?.code !== 'quota_exceeded' || plan.kind !== 'command') return undefined;
  if (plan.idempotency === undefined && !hasItemKeys(plan)) return undefined;
  try {
    return await sendCommand(plan, call, request, ports, { isReplayOnly: true });
  } catch {
    return undefined;
  }
}

function hasItemKeys({ command }: Extract<RequestPlan, { kind: 'command' }>): boolean {
  return command.kind === 'process' && command.itemKeys !== undefined;
}

function perform(
  plan: Planned,
  call: AdmissionCall,
  admitted: Admitted,
  request: FastifyRequest,
  ports: ServePorts,
  audited: AuditedCall | undefined,
): EdgeAnswer | Promise<EdgeAnswer> {
  if (plan.kind === 'command') {
    const { allowance } = admitted;
    return sendCommand(plan, call, request, ports, { allowance, audited });
  }
  const { caller, address } = call;
  const { requestId } = exchangeOf(request) ?? {};
  const isMember = caller.member !== undefined;
  const from = { accountId: caller.accountId, address, requestId, audited, isMember };
  return localAnswer(plan.handler, plan.request, from, admitted, ports.account);
}

/** The engine's answer after the change that the endpoint's `present` makes, if any. */
function presented(plan: Planned, answered: EdgeAnswer): EdgeAnswer {
  if (plan.kind !== 'command' || plan.present === undefined) return answered;
  return { ...answered, body: plan.present(bodyText(answered)) };
}

function sendCommand(
  plan: Extract<RequestPlan, { kind: 'command' }>,
  { caller, callId, traceparent }: AdmissionCall,
  request: FastifyRequest,
  { engine }: ServePorts,
  options: {
    isReplayOnly?: boolean;
    allowance?: Allowance | undefined;
    audited?: AuditedCall | undefined;
  },
): EdgeAnswer | Promise<EdgeAnswer> {
  const { isReplayOnly = false, allowance, audited } = options;
  const { idempotency, ifMatch } = plan;
  const isCreate = plan.command.kind === 'create';
  const instancesMax = allowance?.instances ?? 0;
  const command = isCreate ? { ...plan.command, instancesMax } : plan.command;
  const instanceId = idOf(request);
  const question = { command, instanceId, callId, idempotency, ifMatch, isReplayOnly };
  const modelVersion = allowance?.modelVersion;
  if (modelVersion !== undefined) Object.assign(question, { modelVersion });
  return engine.ask(caller, traced(question, traceparent), audited);
}

function answer(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  answered: EdgeAnswer,
  headers: Headers,
  ports: ServePorts,
): void {
  const { etag, throttledRetryAfterS } = answered;
  if (throttledRetryAfterS > 0) {
    const refusal = strictRefusal(request, throttledRetryAfterS);
    if (refusal !== undefined) {
      headers['preference-applied'] = 'handling=strict';
      ports.reply.refuse(request, reply, endpoint, refusal, headers);
      return;
    }
    headers['x-throttled'] = 'true';
    headers['retry-after'] = throttledRetryAfterS;
  }
  if (endpoint.isTagged) headers['etag'] = etag;
  if (answered.isReplayed) headers['idempotent-replayed'] = 'true';
  if (endpoint.method === 'GET' && isKnownToCaller(request.headers['if-none-match'], etag)) {
    ports.reply.send(request, reply, endpoint, 304, headers, undefined);
  } else if (
    endpoint.method === 'DELETE' &&
    isPreferred(request.headers['prefer'], 'return=minimal')
  ) {
    headers['preference-applied'] = 'return=minimal';
    ports.reply.send(request, reply, endpoint, 204, headers, undefined);
  } else {
    if (answered.location !== undefined)
      headers['location'] = `${ports.prefix}${answered.location}`;
    ports.reply.send(request, reply, endpoint, endpoint.success, headers, answered.body);
  }
}

/** The refusal for an early observation whose caller prefers strict handling (decision 1). */
function strictRefusal(request: FastifyRequest, retryAfterS: number): Fault | undefined {
  if (!isPreferred(request.headers['prefer'], 'handling=strict')) return undefined;
  const text = 'less than 1.0 s after the previous observation';
  return faultFor('min_cycle_interval', text, { retryAfterS });
}

/** A call's account, address and request id. */
type CallOrigin = Pick<AccountCaller, 'accountId' | 'address' | 'requestId' | 'audited'> & {
  /** Whether the caller is a member of the console, who has no key. */
  readonly isMember?: boolean;
};

/** The answer from an endpoint without an engine call. Throws the handler's refusals. */
export async function localAnswer(
  handler: LocalHandler,
  request: CheckedRequest<unknown, unknown>,
  from: CallOrigin,
  admitted: Admitted,
  ports: AccountPorts,
): Promise<EdgeAnswer> {
  switch (handler.kind) {
    case 'stateless':
      return plainAnswer(JSON.stringify(await handler.answer(request)));
    case 'account': {
      const caller = accountCaller(from, admitted);
      const answered = await handler.answer(request, caller, ports);
      const location = handler.locationOf?.(answered);
      const plain = plainAnswer(JSON.stringify(answered));
      return location === undefined ? plain : { ...plain, location };
    }
  }
}

/**
 * Throws `limiter_unavailable` if the limiter describes no caller, because the limiter runs an
 * earlier release.
 */
function accountCaller(
  { isMember = false, ...from }: CallOrigin,
  { allowance, description }: Admitted,
): AccountCaller {
  if (allowance !== undefined && (isMember || description !== undefined)) {
    return { ...from, allowance, description };
  }
  throw faultFor('limiter_unavailable', 'the limiter runs an earlier release; retry', {
    retryAfterS: UNSURE_RESET_S,
  });
}
