/* Serves fleet calls: one engine call for each observation. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, AdmissionCall, Admitted } from '#edge/callers/admission';
import type { Endpoint, FleetItem, FleetObservation, FleetRequest } from '#edge/endpoints/endpoint';
import { type Exchange, unknownHeaders } from '#edge/http';
import type { FleetStatus } from '#edge/schemas/answers';
import type { CallIds, EdgeAnswer, EngineCalls } from '#edge/serve/engine-calls';
import { faultReply, type Reply } from '#edge/serve/reply';
import { planFleet } from '#edge/serve/request-plan';
import { FAULTS } from '#errors/error-codes';
import { Fault, faultFor, toFault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import { bodyText } from '#grpc/engine-messages';
import type { Clock } from '#stdlib/clock';
import { traced } from '#telemetry/tracer';

/** Maximum fleet calls that an edge serves at the same time. Each call holds up to 3 MiB. */
const CALLS_MAX = 16;

/** Maximum instances of a call that are asked at the same time, so that other callers get a turn. */
const INSTANCES_AT_ONCE = 64;

/** Time after which a call lets the event loop run other work, in milliseconds. */
const SLICE_MS = 2;

/** Result of an observation. */
type Outcome = {
  readonly status: FleetStatus;
  /** Members of the result after `status`, as JSON text that starts with a comma, or empty. */
  readonly members: string;
  /** Cycles that the observation used: 0 or 1. */
  readonly cycles: number;
  /** Whether the observation may have used another cycle. */
  readonly isUnclear?: boolean;
  /** Whether the quota refused the observation. */
  readonly isBeyondQuota?: true;
};

/** Results of a call. */
export type FleetAnswer = {
  /** Body of the answer as JSON. */
  readonly body: string;
  readonly cyclesUsed: number;
  /** Cycles of observations with unknown outcome, which are charged too. */
  readonly cyclesUnknown: number;
  /** Whether the quota refused every observation. */
  readonly isWithoutQuota: boolean;
};

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
  #open = 0;

  constructor(ports: FleetPorts) {
    this.#ports = ports;
  }

  /** Takes a place for a call until disposal. Throws `overloaded` if there is none. */
  begin(): Disposable {
    if (this.#open >= CALLS_MAX) {
      throw faultFor('overloaded', 'too many fleet calls; retry', { retryAfterS: 1 });
    }
    this.#open += 1;
    return {
      [Symbol.dispose]: () => {
        this.#open -= 1;
      },
    };
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
      deadlineAtMs: nowMs + CALL_TIMEOUT_MS_MAX,
      granted: new Set(observationsOf(request).slice(0, refusal === undefined ? cycles : 0)),
      quotaFault: quotaExceeded(allowance?.monthResetAtS ?? 0, nowMs),
    };
    const outcomes: Outcome[] = new Array(request.items.length);
    const groups = groupsOf(request.items).values();
    const slice = new Slice(clock);
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
    slice: Slice,
  ): Promise<void> {
    let isBlocked = false;
    for (const index of group) {
      const item = context.request.items[index];
      if (item === undefined) continue;
      if (isBlocked) {
        outcomes[index] = NOT_ATTEMPTED;
        continue;
      }
      while (slice.isOver) await slice.next();
      let outcome: Outcome;
      try {
        outcome = await this.#outcomeOf(item, index, context);
      } catch (error) {
        const fault = toFault(error);
        // After the quota is used up, the later observations are only answered if they are known.
        isBlocked = fault.code !== 'quota_exceeded';
        outcome = refused(isBlocked ? fault : context.quotaFault, context.requestId);
        if (fault.httpStatus >= 500) context.onFailure(fault);
      }
      outcomes[index] = outcome;
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
 * Serves a fleet call, from admission to answer. A call beyond the bound is refused
 * at once, before its body is parsed. Rejects only if the code has a bug.
 */
export async function serveFleet(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  exchange: Exchange,
  ports: ServeFleetPorts,
): Promise<void> {
  try {
    using _ = ports.fleet.begin();
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
  const plan = faultOr(() => planFleet(endpoint, request, clock.wallMs()));
  const { cycles, requests } = plan instanceof Fault ? { cycles: 0, requests: 1 } : plan;
  const call: AdmissionCall = {
    ...{ caller, address: request.ip, userAgent: request.headers['user-agent'] },
    ...{ callId: ports.callIds.next(), callTag: 0, isKeyed: false, scope: 'full' },
    ...{ cycles, requests, isPartial: true },
    traceparent: exchange.trace?.traceparent,
  };
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
    const isReserved = refusal === undefined && cycles > 0;
    const headers = isReserved
      ? await admission.settle(call, answered.cyclesUsed, admitted, answered.cyclesUnknown)
      : admitted.headers;
    if (refusal !== undefined && answered.isWithoutQuota) {
      ports.reply.refuse(request, reply, endpoint, refusal, headers);
    } else {
      ports.reply.send(request, reply, endpoint, endpoint.success, headers, answered.body);
    }
  } finally {
    ports.inFlight.calls -= 1;
  }
}

/** Result of `plan`, or the fault that it throws. */
function faultOr<T>(plan: () => T): T | Fault {
  try {
    return plan();
  } catch (error) {
    return toFault(error);
  }
}

/** Whether an earlier call may have applied an observation. */
function hasKeys({ items }: FleetRequest): boolean {
  return items.some((item) => item.kind === 'observation' && item.idempotency !== undefined);
}

/** Time slice of a call. Calls that engines in this process answer would otherwise block others. */
class Slice {
  readonly #clock: Clock;
  #endsAtMs: number;
  #turn: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + SLICE_MS;
  }

  /** Whether the slice is over. */
  get isOver(): boolean {
    return this.#turn !== undefined || this.#clock.monotonicMs() >= this.#endsAtMs;
  }

  /** Resolves in the next slice, which begins after other work of the event loop. */
  next(): Promise<void> {
    this.#turn ??= this.#begin();
    return this.#turn;
  }

  async #begin(): Promise<void> {
    await setImmediate();
    this.#endsAtMs = this.#clock.monotonicMs() + SLICE_MS;
    this.#turn = undefined;
  }
}

/** Indexes of the valid observations, in input order. */
function observationsOf({ items }: FleetRequest): number[] {
  return items.flatMap(({ kind }, index) => (kind === 'observation' ? index : []));
}

/** Indexes of items by instance. An item without an instance is alone. */
function groupsOf(items: readonly FleetItem[]): Map<string | number, number[]> {
  const groups = new Map<string | number, number[]>();
  for (const [index, { instanceId = index }] of items.entries()) {
    const group = groups.get(instanceId);
    if (group === undefined) groups.set(instanceId, [index]);
    else group.push(index);
  }
  return groups;
}

function quotaExceeded(monthResetAtS: number, nowMs: number): Fault {
  const retryAfterS = Math.max(1, Math.ceil(monthResetAtS - nowMs / 1_000));
  return new Fault('quota_exceeded', 'the monthly quota is used up', { retryAfterS });
}

const NOT_ATTEMPTED: Outcome = { status: 'not_attempted', members: ',"retry":"after"', cycles: 0 };

function outcomeOf(answer: EdgeAnswer, isStateWanted: boolean): Outcome {
  const { throttledRetryAfterS, isReplayed, isPerhapsOwn, cycles } = answer;
  const state = stateOf(bodyText(answer), isStateWanted);
  if (throttledRetryAfterS > 0) {
    const members = `${state},"retry":"after","retry_after":${throttledRetryAfterS}`;
    return { status: 'throttled', members, cycles };
  }
  const status = isReplayed ? 'replayed' : 'applied';
  // The answer may belong to a lost attempt of this call, whose cycle is then charged.
  return { status, members: state, cycles, isUnclear: isPerhapsOwn === true };
}

const DATA_START = '{"data":{';
const DATA_END = '}}';

/**
 * State of an instance as members of a result. `body`: answer to a single call. Copies the members
 * from the text, because parsing an answer costs as much as a cycle of the model. The engine writes
 * the members in this order, and no text of callers (engine/json).
 */
function stateOf(body: string, isStateWanted: boolean): string {
  const cycle = memberAt(body, '"cycle":', ',', 0);
  const stress = memberAt(body, '"stress_state":', ',', cycle.end);
  const allowed = memberAt(body, '"allowed_actions":', ']', stress.end);
  const forbidden = memberAt(body, '"forbidden_actions":', ']', allowed.end);
  const level = memberAt(body, '"drift":{"level":', ',', forbidden.end);
  const whole = isStateWanted ? `,${body.slice(DATA_START.length, -DATA_END.length)}` : '';
  return (
    `,"cycle":${cycle.text},"stress_state":${stress.text},"drift_level":${level.text}` +
    `,"allowed_actions":${allowed.text}],"forbidden_actions":${forbidden.text}]${whole}`
  );
}

/** The value between `start` and the next `end`, which is not part of the value. */
function memberAt(body: string, start: string, end: string, from: number) {
  const at = body.indexOf(start, from) + start.length;
  const endsAt = body.indexOf(end, at);
  assert(at >= start.length && endsAt >= 0, `the engine's answer must have ${start}`);
  return { text: body.slice(at, endsAt), end: endsAt };
}

function refused(fault: Fault, requestId: string): Outcome {
  const { status: httpStatus, body } = faultReply(fault, requestId);
  const isUnknown = fault.isOutcomeUnknown || fault.code === 'internal';
  const wait = fault.retryAfterS === undefined ? '' : `,"retry_after":${fault.retryAfterS}`;
  const members = `,"retry":"${retryOf(fault, isUnknown)}"${wait},"http_status":${httpStatus},"refusal":${body}`;
  if (isUnknown) return { status: 'unknown', members, cycles: 0, isUnclear: true };
  const outcome = { status: 'refused', members, cycles: 0 } as const;
  return fault.code === 'quota_exceeded' ? { ...outcome, isBeyondQuota: true } : outcome;
}

function retryOf({ code }: Fault, isUnknown: boolean): string {
  if (isUnknown) return 'same_key';
  return FAULTS[code].isRetryable || code === 'quota_exceeded' ? 'after' : 'never';
}

/** The answer with all results, in input order. */
function answerOf(
  items: readonly FleetItem[],
  outcomes: readonly Outcome[],
): FleetAnswer & { readonly summary: Readonly<Record<FleetStatus, number>> } {
  const summary = {
    ...{ applied: 0, replayed: 0, throttled: 0 },
    ...{ refused: 0, unknown: 0, not_attempted: 0 },
  };
  let cyclesUsed = 0;
  let cyclesUnknown = 0;
  let withoutQuota = 0;
  const results = outcomes.map((outcome, index) => {
    const { status, members } = outcome;
    summary[status] += 1;
    cyclesUsed += outcome.cycles;
    if (outcome.isUnclear === true) cyclesUnknown += 1;
    if (outcome.isBeyondQuota === true) withoutQuota += 1;
    const id = items[index]?.instanceId;
    const named = id === undefined ? '' : `,"instance_id":${JSON.stringify(id)}`;
    return `{"index":${index}${named},"status":"${status}"${members}}`;
  });
  const body = `{"data":{"summary":${JSON.stringify(summary)},"results":[${results.join(',')}]}}`;
  const isWithoutQuota = withoutQuota === outcomes.length;
  return { body, cyclesUsed, cyclesUnknown, isWithoutQuota, summary };
}
