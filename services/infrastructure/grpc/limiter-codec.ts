import {
  ACCOUNT_ANSWER_LENGTH_MAX,
  ACCOUNT_CALL_MS_MAX,
  ACCOUNT_QUESTION_LENGTH_MAX,
  ADDRESS_LENGTH_MAX,
  ADMITTED_CYCLES_MAX,
  ADMITTED_REQUESTS_MAX,
  CALL_ID_MAX,
  CLIENT_LENGTH_MAX,
  LIMITER_TIMEOUT_MS,
  MESSAGE_BYTES,
  TOKEN_LENGTH_MAX,
} from '#grpc/call-bounds';
import { brokenMessage, trustInteger, trustText, unknownCall } from '#grpc/frame';
import type { FrameProtocol } from '#grpc/frame-protocol';
import {
  type Admit,
  LimiterReply,
  LimiterRequest,
  LimiterService,
  type LimiterAnswer as WireAnswer,
  type CallerDescription as WireCaller,
  type Verdict as WireVerdict,
  Verdict as WireVerdicts,
} from '#grpc/gen/identity_engine/v1/limiter';
import type {
  Allowance,
  CallerDescription,
  LimiterAnswer,
  LimiterCall,
  Verdict,
} from '#grpc/limiter-messages';
import type { WireRole } from '#grpc/tls';
import { traced, traceparentIn } from '#telemetry/tracer';

const VERDICT_TO_WIRE = {
  admitted: WireVerdicts.VERDICT_ADMITTED,
  settled: WireVerdicts.VERDICT_SETTLED,
  unknown_key: WireVerdicts.VERDICT_UNKNOWN_KEY,
  address_not_allowed: WireVerdicts.VERDICT_ADDRESS_NOT_ALLOWED,
  read_only_key: WireVerdicts.VERDICT_READ_ONLY_KEY,
  account_suspended: WireVerdicts.VERDICT_ACCOUNT_SUSPENDED,
  rate_limited: WireVerdicts.VERDICT_RATE_LIMITED,
  quota_exceeded: WireVerdicts.VERDICT_QUOTA_EXCEEDED,
  answered: WireVerdicts.VERDICT_ANSWERED,
} as const satisfies Record<Verdict, WireVerdict>;

const VERDICT_FROM_WIRE = new Map<number, Verdict>();
for (const [verdict, wire] of Object.entries(VERDICT_TO_WIRE)) {
  VERDICT_FROM_WIRE.set(wire, verdict as Verdict);
}

/** Roles that may make calls on behalf of members, because their processes authenticate members. */
const FOR_MEMBERS: readonly WireRole[] = ['console'];

/** Printable ASCII. */
const PRINTABLE = /^[ -~]*$/;

/** Frame protocol of the limiter, for edges and consoles. */
export const limiterProtocol: FrameProtocol<
  LimiterCall,
  LimiterAnswer,
  LimiterRequest,
  WireAnswer
> = {
  name: 'identity_engine.v1.Limiter',
  role: 'limiter',
  exchangePath: LimiterService.exchange.path,
  nameOf: ({ kind }) => kind,
  ask: LimiterService.ask,
  unavailable: 'limiter_unavailable',
  timedOut: 'limiter_unavailable',
  timeoutMs: LIMITER_TIMEOUT_MS,
  timeoutMsOf: ({ kind }) => (kind === 'account' ? ACCOUNT_CALL_MS_MAX : undefined),
  waits: () => false,
  callersOf: (call) => (call.kind === 'admit' && call.isOfMember ? FOR_MEMBERS : undefined),
  deadlineAtMsOf: () => Number.POSITIVE_INFINITY,
  request: LimiterRequest,
  reply: LimiterReply,
  sizeOfCall: (call) =>
    call.kind === 'account' ? MESSAGE_BYTES + jsonBytes(call.body) : MESSAGE_BYTES,
  requestOf(id, timeoutMs, call) {
    const { accountId, callId, callTag, traceparent = '' } = call;
    return {
      id,
      timeoutMs,
      accountId,
      callId,
      callTag,
      call: callToWire(call),
      traceparent,
      traceId: undefined,
    };
  },
  callOf(request) {
    const call = callOf(request);
    const { traceparent } = request;
    return traceparent === '' ? call : traced(call, traceparentIn(traceparent));
  },
  sizeOfAnswer: ({ body }) =>
    body === undefined ? MESSAGE_BYTES : MESSAGE_BYTES + jsonBytes(body),
  answerToWire,
  answerFromWire,
};

/** Upper bound for the size of JSON data, in bytes. A UTF-16 unit takes up to three bytes. */
function jsonBytes(data: unknown): number {
  return 3 * JSON.stringify(data).length;
}

function answerToWire(answer: LimiterAnswer): WireAnswer {
  const { verdict, allowance, caller, body, reservation, cycles } = answer;
  const described = caller === undefined ? undefined : callerToWire(caller);
  const text = body === undefined ? undefined : JSON.stringify(body);
  const wire = VERDICT_TO_WIRE[verdict];
  return { verdict: wire, allowance, caller: described, body: text, reservation, cycles };
}

function callerToWire(caller: CallerDescription): WireCaller {
  const { plan, keyId, keyScope, keyExpiresAtMs } = caller;
  return { plan, keyId, mayWrite: keyScope.split(' ').includes('full'), keyScope, keyExpiresAtMs };
}

function callToWire(call: LimiterCall): NonNullable<LimiterRequest['call']> {
  switch (call.kind) {
    case 'admit': {
      const { keyDigest, scope, cycles, isCallerDescribed: describesCaller = false } = call;
      const { address = '', client, isOfMember: ofMember = false } = call;
      const { requests = 0, isPartial: partial = false } = call;
      // Scopes other than these two are sent by name. An older limiter ignores the name and checks
      // for the strongest scope that it supports.
      const isPlain = scope === 'read' || scope === 'full';
      const need = { writes: scope !== 'read' && scope !== 'any', scope: isPlain ? '' : scope };
      const rest = { describesCaller, address, client, ofMember, requests, partial };
      return { $case: 'admit', value: { keyDigest, ...need, cycles, ...rest } };
    }
    case 'settle': {
      const { cyclesUsed, cyclesUnknown = 0, reservation } = call;
      return { $case: 'settle', value: { cyclesUsed, cyclesUnknown, reservation } };
    }
    case 'account': {
      const { name, body } = call;
      return { $case: 'account', value: { name, body: JSON.stringify(body) } };
    }
  }
}

function callOf({ accountId, callId, callTag, call }: LimiterRequest): LimiterCall {
  if (call === undefined) throw unknownCall();
  trustText(accountId, 1, TOKEN_LENGTH_MAX, 'account id');
  trustInteger(callId, 0, CALL_ID_MAX, 'call id');
  trustInteger(callTag, 0, CALL_ID_MAX, 'call tag');
  switch (call.$case) {
    case 'admit':
      return {
        kind: 'admit',
        accountId,
        keyDigest: trustText(call.value.keyDigest, 1, TOKEN_LENGTH_MAX, 'key digest'),
        callId,
        callTag,
        scope: neededFrom(call.value),
        cycles: trustInteger(call.value.cycles, 0, ADMITTED_CYCLES_MAX, 'cycles'),
        isCallerDescribed: call.value.describesCaller,
        address: addressOf(call.value.address),
        client: clientOf(call.value.client),
        isOfMember: call.value.ofMember || undefined,
        ...severalOf(call.value),
      };
    case 'settle': {
      const cyclesUsed = trustInteger(call.value.cyclesUsed, 0, ADMITTED_CYCLES_MAX, 'cycles used');
      const { cyclesUnknown } = call.value;
      if (cyclesUnknown > 0) {
        trustInteger(cyclesUnknown, 0, ADMITTED_CYCLES_MAX, 'cycles unknown');
      }
      const settled = { accountId, callId, callTag, cyclesUsed };
      const reservation = reservationOf(call.value.reservation);
      return cyclesUnknown === 0
        ? { kind: 'settle', ...settled, ...reservation }
        : { kind: 'settle', ...settled, cyclesUnknown, ...reservation };
    }
    case 'account': {
      const name = trustText(call.value.name, 1, TOKEN_LENGTH_MAX, 'name of a question');
      const body = jsonFrom(call.value.body, ACCOUNT_QUESTION_LENGTH_MAX);
      return { kind: 'account', accountId, callId, callTag, name, body };
    }
  }
}

/** Fields of a call that counts as several requests, or that allows fewer cycles. */
function severalOf({ requests, partial }: Pick<Admit, 'requests' | 'partial'>) {
  if (requests === 0 && !partial) return undefined;
  trustInteger(requests, 0, ADMITTED_REQUESTS_MAX, 'requests');
  return { requests: requests || undefined, isPartial: partial || undefined };
}

function addressOf(address: string): string | undefined {
  return address === '' ? undefined : trustText(address, 1, ADDRESS_LENGTH_MAX, 'address');
}

/** Name of the client program. The name is printed later, so unprintable characters are refused. */
function clientOf(client: string | undefined): string | undefined {
  if (client === undefined) return undefined;
  if (!PRINTABLE.test(client)) throw brokenMessage('client');
  return trustText(client, 0, CLIENT_LENGTH_MAX, 'client');
}

// A verdict without an allowance is refused, because the edge would have to guess the numbers.
function answerFromWire(answer: WireAnswer): LimiterAnswer {
  const { verdict: sent, allowance, caller, body } = answer;
  const verdict = VERDICT_FROM_WIRE.get(sent);
  if (verdict === undefined) throw brokenMessage('verdict');
  if ((body === undefined) === (verdict === 'answered')) throw brokenMessage('body');
  if (body !== undefined) {
    return { verdict, allowance: undefined, body: jsonFrom(body, ACCOUNT_ANSWER_LENGTH_MAX) };
  }
  if ((allowance === undefined) !== (verdict === 'unknown_key')) throw brokenMessage('allowance');
  if (allowance !== undefined) trustAllowance(allowance);
  const reserved = { ...reservationOf(answer.reservation), ...cyclesOf(answer.cycles) };
  if (caller === undefined) return { verdict, allowance, ...reserved };
  if (verdict !== 'admitted') throw brokenMessage('caller');
  return { verdict, allowance, caller: callerFromWire(caller), ...reserved };
}

function cyclesOf(cycles: number | undefined): { readonly cycles?: number } {
  return cycles === undefined
    ? {}
    : { cycles: trustInteger(cycles, 0, ADMITTED_CYCLES_MAX, 'cycles') };
}

function reservationOf(reservation: number | undefined): { readonly reservation?: number } {
  if (reservation === undefined) return {};
  return { reservation: trustInteger(reservation, 0, Number.MAX_SAFE_INTEGER, 'reservation') };
}

function neededFrom({ writes, scope }: { readonly writes: boolean; readonly scope: string }) {
  if (scope === '') return writes ? 'full' : 'read';
  if (scope === 'audit' || scope === 'billing' || scope === 'any') return scope;
  throw brokenMessage('scope of a call');
}

function callerFromWire(caller: WireCaller): CallerDescription {
  const { plan, keyId, mayWrite, keyScope, keyExpiresAtMs } = caller;
  const plainScope = mayWrite ? 'full' : 'read';
  if (keyExpiresAtMs !== undefined) {
    trustInteger(keyExpiresAtMs, 0, Number.MAX_SAFE_INTEGER, 'expiry of the key');
  }
  return {
    plan: trustText(plan, 1, TOKEN_LENGTH_MAX, 'plan'),
    keyId: trustText(keyId, 1, TOKEN_LENGTH_MAX, 'key id'),
    keyScope: keyScope === '' ? plainScope : trustText(keyScope, 1, TOKEN_LENGTH_MAX, 'scope'),
    keyExpiresAtMs,
  };
}

function trustAllowance(allowance: Allowance): void {
  const { modelVersion } = allowance;
  if (modelVersion !== undefined) trustText(modelVersion, 1, TOKEN_LENGTH_MAX, 'model version');
  trustInteger(allowance.windowResetAtS, 0, Number.MAX_SAFE_INTEGER, 'end of the window');
  trustInteger(allowance.cyclesPerMonth, 0, Number.MAX_SAFE_INTEGER, 'cycles per month');
  trustInteger(allowance.cyclesRemaining, 0, Number.MAX_SAFE_INTEGER, 'remaining cycles');
  trustInteger(allowance.monthResetAtS, 0, Number.MAX_SAFE_INTEGER, 'end of the month');
}

function jsonFrom(text: string, lengthMax: number): unknown {
  trustText(text, 1, lengthMax, 'JSON of an account');
  try {
    return JSON.parse(text);
  } catch {
    throw brokenMessage('JSON of an account');
  }
}
