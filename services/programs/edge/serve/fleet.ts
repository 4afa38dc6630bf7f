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
  readonly deadlineAtMs: number;
  /** Indexes of observations for which a cycle is reserved. */
  readonly granted: ReadonlySet<number>;
  /** The refusal of all other observations. */
  readonly quotaFault: Fault;
  /** Called with each failure of the service, for the log. */
  readonly onFailure: (fault: Fault) => void;
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
      granted: new Set(observationsOf(request).slice(0, refusal === undefined ? cycles : 0)),
      quotaFault: quotaExceeded(allowance?.monthResetAtS ?? 0, nowMs),
    };
    const outcomes: Outcome[] = new Array(request.items.length);
    const groups = groupsOf(request.items).values();
    const slice = new TimeSlice(clock);
    const work = async () => {
      for (const group of groups) await this.#processGroup(group, context, outcomes, slice);
    };
    await Promise.all(Array.from({ length: INSTANCES_AT_ONCE }, work));
    const answer = answerOf(request.items, outcomes);
    for (const [status, count] of Object.entries(answer.summary)) {
      if (count > 0) counted(status as FleetStatus, count);
    }
    return answer;
  }

  /** Processes the observations of one instance, given by their indexes. */
  async #processGroup(
    group: readonly number[],
    context: Context,
    outcomes: Outcome[],
    slice: TimeSlice,
  ): Promise<void> {
    let isBlocked = false;
    for (const index of group) {
      while (slice.isOver) await slice.next();
      const item = context.request.items[index];
      if (isBlocked || item === undefined) {
        outcomes[index] = NOT_ATTEMPTED;
        continue;
      }
      const attempted = this.#attempt(item, index, context);
      const outcome = attempted instanceof Promise ? await attempted : attempted;
      // After the quota is used up, later observations are still answered if their keys are known.
      isBlocked = outcome.fault !== undefined && outcome.fault.code !== 'quota_exceeded';
      // Without a reserved cycle, the engine applies nothing.
      outcomes[index] = context.granted.has(index) ? outcome : { ...outcome, isUnknown: false };
    }
  }

  // Engines in this process answer at once, and a thousand promises cost more than their answers.
  #attempt(item: FleetItem, index: number, context: Context): Outcome | Promise<Outcome> {
    const failed = (error: unknown): Outcome => {
      const fault = toFault(error);
      if (fault.httpStatus >= 500) context.onFailure(fault);
      const shown = fault.code === 'quota_exceeded' ? context.quotaFault : ofItem(fault, index);
      return refusedOutcome(shown, context.requestId);
    };
    try {
      const outcome = this.#outcomeOf(item, index, context);
      return outcome instanceof Promise ? outcome.catch(failed) : outcome;
    } catch (error) {
      return failed(error);
    }
  }

  #outcomeOf(item: FleetItem, index: number, context: Context): Outcome | Promise<Outcome> {
    if (item.kind === 'refused') throw item.fault;
    const { granted, deadlineAtMs, request, quotaFault } = context;
    const isGranted = granted.has(index);
    if (!isGranted && item.idempotency === undefined) throw quotaFault;
    if (this.#ports.clock.wallMs() >= deadlineAtMs) return NOT_ATTEMPTED;
    const answered = this.#ask(item, !isGranted, context);
    const { isStateWanted } = request;
    if (!(answered instanceof Promise)) return outcomeOf(answered, isStateWanted);
    return answered.then((answer) => outcomeOf(answer, isStateWanted));
  }

  #ask(
    { instanceId, observation, idempotency }: FleetObservation,
    isReplayOnly: boolean,
    { call: { caller, traceparent }, modelVersion, deadlineAtMs }: Context,
  ): EdgeAnswer | Promise<EdgeAnswer> {
    const { engine, callIds } = this.#ports;
    const command = {
      kind: 'process',
      observations: [observation],
      ...{ isBatch: false, isEveryStateWanted: false },
    } as const;
    const { callId } =
      idempotency === undefined
        ? { callId: callIds.next() }
        : callIds.ofKey(caller, command, instanceId, idempotency.key);
    const named = { command, instanceId, callId, idempotency, ifMatch: undefined, isReplayOnly };
    const question = modelVersion === undefined ? named : { ...named, modelVersion };
    return engine.ask(caller, traced(question, traceparent), undefined, deadlineAtMs);
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

/** Indexes of the valid observations, in input order. */
function observationsOf({ items }: FleetRequest): number[] {
  return items.flatMap(({ kind }, index) => (kind === 'observation' ? index : []));
}

/** Indexes of items by instance. An item without an instance is alone. */
function groupsOf(items: readonly FleetItem[]): Map<string | number, number[]> {
  return Map.groupBy(items.keys(), (index) => items[index]?.instanceId ?? index);
}

function quotaExceeded(monthResetAtS: number, nowMs: number): Fault {
  const retryAfterS = Math.max(1, Math.ceil(monthResetAtS - nowMs / 1_000));
  return new Fault('quota_exceeded', 'the monthly quota is used up', { retryAfterS });
}
