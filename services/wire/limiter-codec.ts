import { traced, traceparentIn } from '#platform/traceparent';
import type { FrameProtocol } from '#wire/frame-protocol';
import {
  LimiterReply,
  LimiterRequest,
  LimiterService,
  type LimiterAnswer as WireAnswer,
  type CallerDescription as WireCaller,
  type Verdict as WireVerdict,
  Verdict as WireVerdicts,
} from '#wire/gen/identity_engine/v1/limiter';
import type {
  Allowance,
  CallerDescription,
  LimiterAnswer,
  LimiterCall,
  Verdict,
} from '#wire/limiter-messages';
import {
  CALL_ID_MAX,
  CYCLES_MAX,
  LIMITER_TIMEOUT_MS,
  MESSAGE_BYTES,
  TOKEN_LENGTH_MAX,
} from '#wire/wire-bounds';
import { brokenMessage, trustInteger, trustText } from '#wire/wire-trust';

const VERDICT_TO_WIRE = {
  admitted: WireVerdicts.VERDICT_ADMITTED,
  settled: WireVerdicts.VERDICT_SETTLED,
  unknown_key: WireVerdicts.VERDICT_UNKNOWN_KEY,
  read_only_key: WireVerdicts.VERDICT_READ_ONLY_KEY,
  account_suspended: WireVerdicts.VERDICT_ACCOUNT_SUSPENDED,
  rate_limited: WireVerdicts.VERDICT_RATE_LIMITED,
  quota_exceeded: WireVerdicts.VERDICT_QUOTA_EXCEEDED,
} as const satisfies Record<Verdict, WireVerdict>;

const VERDICT_FROM_WIRE = new Map<number, Verdict>();
for (const [verdict, wire] of Object.entries(VERDICT_TO_WIRE)) {
  VERDICT_FROM_WIRE.set(wire, verdict as Verdict);
}

/** The limiter's stream, as edges speak it. */
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
  waits: () => false,
  deadlineAtMsOf: () => Number.POSITIVE_INFINITY,
  request: LimiterRequest,
  reply: LimiterReply,
  sizeOfCall: () => MESSAGE_BYTES,
  requestOf(id, timeoutMs, call) {
    const { accountId, callId, callTag, traceparent = '' } = call;
    return { id, timeoutMs, accountId, callId, callTag, call: callToWire(call), traceparent };
  },
  callOf(request) {
    const call = callOf(request);
    const { traceparent } = request;
    return traceparent === '' ? call : traced(call, traceparentIn(traceparent));
  },
  sizeOfAnswer: () => MESSAGE_BYTES,
  answerToWire,
  answerFromWire,
};

function answerToWire({ verdict, allowance, caller }: LimiterAnswer): WireAnswer {
  const described = caller === undefined ? undefined : callerToWire(caller);
  return { verdict: VERDICT_TO_WIRE[verdict], allowance, caller: described };
}

function callerToWire(caller: CallerDescription): WireCaller {
  const { plan, keyId, keyScope, keyExpiresAtMs } = caller;
  return { plan, keyId, mayWrite: keyScope === 'full', keyExpiresAtMs };
}

function callToWire(call: LimiterCall): NonNullable<LimiterRequest['call']> {
  switch (call.kind) {
    case 'admit': {
      const { keyDigest, scope, cycles, isCallerDescribed: describesCaller = false } = call;
      const writes = scope === 'full';
      return { $case: 'admit', value: { keyDigest, writes, cycles, describesCaller } };
    }
    case 'settle':
      return { $case: 'settle', value: { cyclesUsed: call.cyclesUsed } };
  }
}

function callOf({ accountId, callId, callTag, call }: LimiterRequest): LimiterCall {
  if (call === undefined) throw brokenMessage('call');
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
        scope: call.value.writes ? 'full' : 'read',
        cycles: trustInteger(call.value.cycles, 0, CYCLES_MAX, 'cycles'),
        isCallerDescribed: call.value.describesCaller,
      };
    case 'settle': {
      const cyclesUsed = trustInteger(call.value.cyclesUsed, 0, CYCLES_MAX, 'cycles used');
      return { kind: 'settle', accountId, callId, callTag, cyclesUsed };
    }
  }
}

// A verdict without the numbers it rests on is refused: the edge could only guess them.
function answerFromWire({ verdict: sent, allowance, caller }: WireAnswer): LimiterAnswer {
  const verdict = VERDICT_FROM_WIRE.get(sent);
  if (verdict === undefined) throw brokenMessage('verdict');
  if ((allowance === undefined) !== (verdict === 'unknown_key')) throw brokenMessage('allowance');
  if (allowance !== undefined) trustAllowance(allowance);
  if (caller === undefined) return { verdict, allowance };
  if (verdict !== 'admitted') throw brokenMessage('caller');
  return { verdict, allowance, caller: callerFromWire(caller) };
}

function callerFromWire({ plan, keyId, mayWrite, keyExpiresAtMs }: WireCaller): CallerDescription {
  if (keyExpiresAtMs !== undefined) {
    trustInteger(keyExpiresAtMs, 0, Number.MAX_SAFE_INTEGER, 'expiry of the key');
  }
  return {
    plan: trustText(plan, 1, TOKEN_LENGTH_MAX, 'plan'),
    keyId: trustText(keyId, 1, TOKEN_LENGTH_MAX, 'key id'),
    keyScope: mayWrite ? 'full' : 'read',
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
