import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, AdmissionCall } from '#edge/admission';
import type { CallIds } from '#edge/call-identity';
import { isKnownToCaller, isPreferred } from '#edge/conditions';
import type { EdgeAnswer, EngineCalls } from '#edge/engine-calls';
import type { Caller, Exchange } from '#edge/exchange';
import type { Headers } from '#edge/limit-headers';
import type { Operation } from '#edge/operation';
import type { Reply } from '#edge/reply';
import { planRequest, type RequestPlan } from '#edge/request-plan';
import { Fault, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { CallName } from '#wire/limiter-messages';

/** What serving a request takes. */
export type ServePorts = {
  readonly admission: Admission;
  readonly engine: EngineCalls;
  readonly callIds: CallIds;
  readonly clock: Clock;
  readonly reply: Reply;
  /** How many calls are admitted and not answered. */
  readonly inFlight: { calls: number };
};

type Served = Extract<RequestPlan, { kind: 'task' }>;

/**
 * Serves one request of an operation from admission to answer, in the order of decision 35: the
 * limiter, then what is wrong with the request, then the engine; and the limiter again, so that
 * only cycles that really advanced are charged. Never throws.
 */
export async function serve(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  exchange: Exchange,
  ports: ServePorts,
): Promise<void> {
  const { caller } = exchange;
  if (caller === undefined) throw new Error('a request is served after authentication');
  const plan = planRequest(operation, request, ports.clock.wallMs());
  const { callId, callTag } = nameOf(plan, operation, request, caller, ports.callIds);
  const call: AdmissionCall = {
    caller,
    address: request.ip,
    callId,
    callTag,
    isKeyed: plan.kind === 'task' && plan.idempotency !== undefined,
    scope: operation.scope,
    cycles: plan.kind === 'task' && plan.task.kind === 'engine' ? plan.task.cycles : 0,
  };
  const admitted = await ports.admission.admit(call);
  if (admitted.refusal !== undefined) {
    const replayed = await replayOf(admitted.refusal, plan, call, request, ports);
    if (replayed !== undefined)
      answer(operation, request, reply, replayed, admitted.headers, ports);
    else ports.reply.refuse(request, reply, operation, admitted.refusal, admitted.headers);
    return;
  }
  if (plan.kind === 'refused') {
    ports.reply.refuse(request, reply, operation, plan.fault, admitted.headers);
    return;
  }
  ports.inFlight.calls += 1;
  try {
    const answered = await perform(plan, call, request, ports, { instances: admitted.instances });
    const headers = isSettled(call, answered)
      ? await ports.admission.settle(call, answered.cycles, admitted.headers)
      : admitted.headers;
    answer(operation, request, reply, answered, headers, ports);
  } catch (error) {
    const fault = toFault(error);
    const isGivenBack = call.cycles > 0 && !fault.isOutcomeUnknown && fault.code !== 'internal';
    const headers = isGivenBack
      ? await ports.admission.settle(call, 0, admitted.headers)
      : admitted.headers;
    ports.reply.refuse(request, reply, operation, fault, headers);
  } finally {
    ports.inFlight.calls -= 1;
  }
}

/** Whether it is known how many cycles the call used; else they stay reserved and expire as used. */
function isSettled({ cycles }: AdmissionCall, { isPerhapsOwn }: EdgeAnswer): boolean {
  return cycles > 0 && isPerhapsOwn !== true;
}

function nameOf(
  plan: RequestPlan,
  operation: Operation,
  request: FastifyRequest,
  caller: Caller,
  callIds: CallIds,
): CallName {
  const key = plan.kind === 'task' ? plan.idempotency?.key : undefined;
  if (key === undefined) return { callId: callIds.next(), callTag: 0 };
  return callIds.ofKey(caller, operation, idOf(request), key);
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id?: string }).id ?? '';
}

/** A keyed call that the quota refuses may still have an answer from before (decision 22). */
async function replayOf(
  refusal: Fault,
  plan: RequestPlan,
  call: AdmissionCall,
  request: FastifyRequest,
  ports: ServePorts,
): Promise<EdgeAnswer | undefined> {
  if (refusal.code !== 'quota_exceeded' || plan.kind === 'refused') return undefined;
  if (plan.idempotency === undefined) return undefined;
  try {
    return await perform(plan, call, request, ports, { isReplayOnly: true });
  } catch {
    return undefined;
  }
}

function perform(
  { task, idempotency, ifMatch }: Served,
  { caller, callId }: AdmissionCall,
  request: FastifyRequest,
  { engine }: ServePorts,
  { isReplayOnly = false, instances = 0 }: { isReplayOnly?: boolean; instances?: number },
): EdgeAnswer | Promise<EdgeAnswer> {
  if (task.kind === 'local') return task.answer();
  const isCreate = task.operation.kind === 'create';
  const operation = isCreate ? { ...task.operation, instancesMax: instances } : task.operation;
  const instanceId = idOf(request);
  return engine.ask(caller, { operation, instanceId, callId, idempotency, ifMatch, isReplayOnly });
}

function answer(
  operation: Operation,
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
      ports.reply.refuse(request, reply, operation, refusal, headers);
      return;
    }
    headers['x-throttled'] = 'true';
    headers['retry-after'] = throttledRetryAfterS;
  }
  if (operation.isTagged) headers['etag'] = etag;
  if (answered.isReplayed) headers['idempotent-replayed'] = 'true';
  if (operation.method === 'GET' && isKnownToCaller(request.headers['if-none-match'], etag)) {
    ports.reply.send(request, reply, operation, 304, headers, undefined);
  } else if (
    operation.method === 'DELETE' &&
    isPreferred(request.headers['prefer'], 'return=minimal')
  ) {
    headers['preference-applied'] = 'return=minimal';
    ports.reply.send(request, reply, operation, 204, headers, undefined);
  } else {
    if (answered.location !== undefined) headers['location'] = answered.location;
    ports.reply.send(request, reply, operation, operation.success, headers, answered.body);
  }
}

/** Whoever prefers strict handling is told that its observation came too early (decision 1). */
function strictRefusal(request: FastifyRequest, retryAfterS: number): Fault | undefined {
  if (!isPreferred(request.headers['prefer'], 'handling=strict')) return undefined;
  const reason = 'min_cycle_interval';
  return new Fault('throttled', 'less than 1.0 s after the previous observation', {
    reason,
    retryAfterS,
  });
}
