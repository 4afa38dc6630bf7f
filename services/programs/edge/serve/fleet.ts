/* Serves fleet calls: one engine call for each observation. */
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, AdmissionCall, Admitted } from '#edge/callers/admission';
import type { Endpoint, FleetItem, FleetObservation, FleetRequest } from '#edge/endpoints/endpoint';
import { type Exchange, unknownHeaders } from '#edge/http';
import type { FleetStatus } from '#edge/schemas/answers';
import type { CallIds, EdgeAnswer, EngineCalls } from '#edge/serve/engine-calls';
import {
  answerOf,
  type FleetAnswer,
  NOT_ATTEMPTED,
  type Outcome,
  ofItem,
  outcomeOf,
  refusedOutcome,
} from '#edge/serve/fleet-results';
import type { Reply } from '#edge/serve/reply';
import { planFleet } from '#edge/serve/request-plan';
import { TimeSlice } from '#edge/serve/time-slice';
import { Fault, faultFor, toFault } from '#errors/fault';
import type { EngineCall } from '#grpc/engine-messages';
import type { Clock } from '#stdlib/clock';
import { traced } from '#telemetry/tracer';

/** Maximum fleet calls that an edge serves at the same time. Each call holds up to 3 MiB. */
const CALLS_MAX = 16;

/** Maximum fleet calls of an account that an edge serves at the same time. */
const CALLS_OF_ACCOUNT_MAX = 4;

/**
 * Maximum duration of the engine calls of a fleet call, in milliseconds. Shorter than the timeout of
 * a single call, so that the results arrive before clients give up after ten seconds.
 */
const FLEET_MS_MAX = 8_000;

/** Maximum instances of a call that are asked at the same time, so that other callers get a turn. */
const INSTANCES_AT_ONCE = 64;

type FleetPorts = {
  readonly engine: EngineCalls;
  readonly callIds: CallIds;
  readonly clock: Clock;
  /** Counts results by status. */
  readonly counted: (status: FleetStatus, count: number) => void;
};

/** Context of a call that all its observations share. */
type Context = {
  readonly call: AdmissionCall;
  readonly request: FleetRequest;
  readonly modelVersion: string | undefined;
  readonly requestId: string;
  /** Deadline of the engine calls, in Unix milliseconds. */
  readonly deadlineAtMs: number;
  /** Monotonic time after which no engine call begins, in milliseconds. */
  readonly endsAtMs: number;
  /** Index behind the last observation for which a cycle is reserved. */
  readonly grantedEnd: number;
  /** The refusal of all other observations. */
  readonly quotaFault: Fault;
  /** Called with each failure of the service, for the log. */
  readonly onFailure: (fault: Fault) => void;
  readonly slice: TimeSlice;
  /** Results by index. */
  readonly outcomes: Outcome[];
  /** Indexes of the observations of each instance, for the next worker without work. */
  readonly groups: Iterable<readonly number[]>;
  /** Workers besides the first worker. */
  readonly others: Promise<void>[];
  /** Number of started workers. */
  workers: number;
};

/** Serves fleet calls, a bounded number at the same time. */
export class FleetCalls {
  readonly #ports: FleetPorts;
  /** Accounts of the calls in progress. */
  readonly #open: string[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(ports: FleetPorts) {
    this.#ports = ports;
  }

  /** Takes a place for a call until disposal. Throws `overloaded` if there is none. */
  begin(accountId: string): Disposable {
    const ofAccount = this.#open.filter((each) => each === accountId).length;
    if (this.#open.length >= CALLS_MAX || ofAccount >= CALLS_OF_ACCOUNT_MAX) {
      throw faultFor('overloaded', 'too many fleet calls; retry', { retryAfterS: 1 });
    }
    this.#open.push(accountId);
    return {
      [Symbol.dispose]: () => void this.#open.splice(this.#open.indexOf(accountId), 1),
    };
  }

  /** Resolves in a turn of the event loop for one call alone: parsing a body takes milliseconds. */
  ownTurn(): Promise<void> {
    this.#turn = this.#turn.then(() => setImmediate());
    return this.#turn;
  }

  /**
   * Sends the observations to their engines. Observations of one instance are sent one after the
   * other, in input order. Cycles are reserved for the first `admitted.cycles` valid observations.
   * Of the others, only known keys are answered. Never rejects.
   */
  async process(
    request: FleetRequest,
    call: AdmissionCall,
    { allowance, refusal, cycles = call.cycles }: Admitted,
    { requestId, onFailure }: Pick<Context, 'requestId' | 'onFailure'>,
  ): Promise<FleetAnswer> {
    const { clock, counted } = this.#ports;
    const nowMs = clock.wallMs();
    const context: Context = {
      ...{ call, request, requestId, onFailure, modelVersion: allowance?.modelVersion },
      deadlineAtMs: nowMs + FLEET_MS_MAX,
      endsAtMs: clock.monotonicMs() + FLEET_MS_MAX,
      grantedEnd: endOfFirst(request.items, refusal === undefined ? cycles : 0),
      quotaFault: quotaExceeded(allowance?.monthResetAtS ?? 0, nowMs),
      slice: new TimeSlice(clock),
      outcomes: new Array(request.items.length),
      groups: groupsOf(request.items).values(),
      others: [],
      workers: 1,
    };
    await this.#work(context);
    // No group is left, so no worker that starts from now on has work.
    await Promise.all(context.others);
    const answer = answerOf(request.items, context.outcomes);
    for (const [status, count] of Object.entries(answer.summary)) {
      if (count > 0) counted(status as FleetStatus, count);
    }
    return answer;
  }

  /**
   * Processes groups until none is left. A call starts with one worker, and gets up to
   * `INSTANCES_AT_ONCE` workers while it waits for engines that do not answer at once.
   */
  async #work(context: Context): Promise<void> {
    const { groups, slice, outcomes, grantedEnd } = context;
    for (const group of groups) {
      let isBlocked = false;
      for (const index of group) {
        while (slice.isOver) await slice.next();
        const attempted = isBlocked ? NOT_ATTEMPTED : this.#attempt(index, context);
        const outcome = attempted instanceof Promise ? await attempted : attempted;
        isBlocked ||= blocksLater(outcome);
        // Without a reserved cycle, the engine applies nothing.
        outcomes[index] = index < grantedEnd ? outcome : { ...outcome, isUnknown: false };
      }
    }
  }

  #attempt(index: number, context: Context): Outcome | Promise<Outcome> {
    try {
      const asked = this.#asked(index, context);
      if (asked === undefined) return NOT_ATTEMPTED;
      if (asked instanceof Promise) {
        this.#startAnother(context);
        return this.#awaited(asked, index, context);
      }
      return outcomeOf(asked, context.request.isStateWanted);
    } catch (error) {
      return this.#refused(error, index, context);
    }
  }

  #startAnother(context: Context): void {
    if (context.workers === INSTANCES_AT_ONCE) return;
    // Count first, because the new worker may start another worker before it returns.
    context.workers += 1;
    context.others.push(this.#work(context));
  }

  async #awaited(asked: Promise<EdgeAnswer>, index: number, context: Context): Promise<Outcome> {
    try {
      return outcomeOf(await asked, context.request.isStateWanted);
    } catch (error) {
      return this.#refused(error, index, context);
    }
  }

  #refused(error: unknown, index: number, context: Context): Outcome {
    const fault = toFault(error);
    if (fault.httpStatus >= 500) context.onFailure(fault);
    const shown = fault.code === 'quota_exceeded' ? context.quotaFault : ofItem(fault, index);
    return refusedOutcome(shown, context.requestId);
  }

  /** Asks the engine. Undefined if the time is over. Throws the refusal of the observation. */
  #asked(index: number, context: Context): EdgeAnswer | Promise<EdgeAnswer> | undefined {
    const item = context.request.items[index];
    if (item === undefined) return undefined;
    if (item.kind === 'refused') throw item.fault;
    const isGranted = index < context.grantedEnd;
    if (!isGranted && item.idempotency === undefined) throw context.quotaFault;
    if (context.slice.readMs >= context.endsAtMs) return undefined;
    return this.#ask(item, !isGranted, context);
  }

  #ask(
    { instanceId, observation, idempotency }: FleetObservation,
    isReplayOnly: boolean,
    { call: { caller, traceparent }, request, modelVersion, deadlineAtMs }: Context,
  ): EdgeAnswer | Promise<EdgeAnswer> {
    const { engine, callIds } = this.#ports;
    const command = {
      kind: 'process',
      observations: [observation],
      isBatch: false,
      isEveryStateWanted: false,
      // The stored answer to a key must be whole, because a single call may replay the answer.
      isBrief: !request.isStateWanted && idempotency === undefined,
    } as const;
    const callId =
      idempotency === undefined
        ? callIds.next()
        : callIds.ofKey(caller, command, instanceId, idempotency.key).callId;
    const call: EngineCall = {
      accountId: caller.accountId,
      instanceId,
      callId,
      deadlineAtMs,
      idempotency,
      isReplayOnly,
      ifMatch: undefined,
      command,
    };
    if (modelVersion !== undefined) Object.assign(call, { modelVersion });
    return engine.process(traced(call, traceparent));
  }
}

/** `serveFleet` dependencies. */
export type ServeFleetPorts = {
  readonly admission: Admission;
  readonly callIds: CallIds;
  readonly clock: Clock;
  readonly fleet: FleetCalls;
  readonly reply: Reply;
  readonly inFlight: { calls: number };
};

/**
 * Serves a fleet call, from admission to answer. A call beyond the bound is refused at once, before
 * its body is parsed. Rejects only if the code has a bug.
 */
export async function serveFleet(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  exchange: Exchange,
  ports: ServeFleetPorts,
): Promise<void> {
  try {
    using _ = ports.fleet.begin(exchange.caller?.accountId ?? '');
    await servePlaced(endpoint, request, reply, exchange, ports);
  } catch (error) {
    const headers = unknownHeaders(ports.clock.wallMs());
    ports.reply.refuse(request, reply, endpoint, toFault(error), headers);
  }
}

async function servePlaced(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  exchange: Exchange,
  ports: ServeFleetPorts,
): Promise<void> {
  const { caller, requestId } = exchange;
  if (caller === undefined) throw new Error('the request is not authenticated');
  const { admission, clock } = ports;
  const single: Omit<AdmissionCall, 'cycles'> = {
    ...{ caller, address: request.ip, userAgent: request.headers['user-agent'] },
    ...{ callId: ports.callIds.next(), callTag: 0, isKeyed: false, scope: 'full' },
    traceparent: exchange.trace?.traceparent,
  };
  const limited = admission.rateLimited({ ...single, cycles: 0 });
  if (limited?.refusal !== undefined) {
    ports.reply.refuse(request, reply, endpoint, limited.refusal, limited.headers);
    return;
  }
  await ports.fleet.ownTurn();
  const planned = planFleet(endpoint, request, clock.wallMs(), new TimeSlice(clock));
  const plan = await planned.catch(toFault);
  const { cycles, requests } = plan instanceof Fault ? { cycles: 0, requests: 1 } : plan;
  const call: AdmissionCall = { ...single, cycles, requests, isPartial: true };
  const admitted = await admission.admit(call);
  const { refusal } = admitted;
  if (plan instanceof Fault) {
    ports.reply.refuse(request, reply, endpoint, refusal ?? plan, admitted.headers);
    return;
  }
  // Without quota, known keys are still answered.
  if (refusal !== undefined && !(refusal.code === 'quota_exceeded' && hasKeys(plan))) {
    ports.reply.refuse(request, reply, endpoint, refusal, admitted.headers);
    return;
  }
  ports.inFlight.calls += 1;
  try {
    const onFailure = (failure: Fault) => ports.reply.failed(request, endpoint, failure);
    const answered = await ports.fleet.process(plan, call, admitted, { requestId, onFailure });
    const headers = isSettled(call, admitted, answered)
      ? await admission.settle(call, answered.cyclesUsed, admitted, answered.cyclesUnknown)
      : admitted.headers;
    if (refusal !== undefined && !answered.hasReplays) {
      ports.reply.refuse(request, reply, endpoint, refusal, headers);
    } else {
      ports.reply.send(request, reply, endpoint, endpoint.success, headers, answered.body);
    }
  } finally {
    ports.inFlight.calls -= 1;
  }
}

/**
 * Whether to settle a call now. A limiter of release 1.0 cannot charge unknown cycles, so the
 * reservation must expire as used.
 */
function isSettled(call: AdmissionCall, admitted: Admitted, answered: FleetAnswer): boolean {
  if (admitted.refusal !== undefined || call.cycles === 0) return false;
  return admitted.cycles !== undefined || answered.cyclesUnknown === 0;
}

/** Whether an earlier call may have applied an observation. */
function hasKeys({ items }: FleetRequest): boolean {
  return items.some((item) => item.kind === 'observation' && item.idempotency !== undefined);
}

/**
 * Whether later observations of the instance are not attempted. After the quota is used up, they are
 * still answered if their keys are known.
 */
function blocksLater({ fault }: Outcome): boolean {
  return fault !== undefined && fault.code !== 'quota_exceeded';
}

/** Index behind the first `count` valid observations, in input order. */
function endOfFirst(items: readonly FleetItem[], count: number): number {
  let left = count;
  let end = 0;
  while (left > 0 && end < items.length) {
    if (items[end]?.kind === 'observation') left -= 1;
    end += 1;
  }
  return end;
}

/** Indexes of items by instance. An item without an instance is alone. */
function groupsOf(items: readonly FleetItem[]): Map<string | number, number[]> {
  return Map.groupBy(items.keys(), (index) => items[index]?.instanceId ?? index);
}

function quotaExceeded(monthResetAtS: number, nowMs: number): Fault {
  const retryAfterS = Math.max(1, Math.ceil(monthResetAtS - nowMs / 1_000));
  return new Fault('quota_exceeded', 'the monthly quota is used up', { retryAfterS });
}
