import { faultFromWire, faultToWire } from '#wire/fault-codec';
import type { ClientProtocol, ServerProtocol } from '#wire/frame-protocol';
import {
  LimiterReply,
  LimiterRequest,
  LimiterService,
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
import { brokenMessage, trustInteger, trustText } from '#wire/wire-trust';

/** Longest account id or digest, in UTF-16 units. */
const TOKEN_LENGTH_MAX = 255;
/** Call ids and tags are below 2^52. Source: limiter-messages, engine-messages. */
const CALL_ID_MAX = 2 ** 52 - 1;
/** Cycles that one call may reserve. Source: decision 10. */
const CYCLES_MAX = 100;
/** Upper bound of any message: four texts of `TOKEN_LENGTH_MAX` and numbers, in bytes. */
const MESSAGE_BYTES = 4_096;

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

const CANCEL: LimiterRequest = {
  id: 0,
  timeoutMs: 0,
  accountId: '',
  callId: 0,
  callTag: 0,
  call: undefined,
};

/** The limiter's stream as an edge speaks it. */
export const limiterClientProtocol: ClientProtocol<LimiterCall, LimiterAnswer, LimiterReply> = {
  path: LimiterService.exchange.path,
  sizeOfCall: () => MESSAGE_BYTES,
  writeCall(writer, id, timeoutMs, call) {
    const { accountId, callId, callTag } = call;
    const named = { id, timeoutMs, accountId, callId, callTag, call: callToWire(call) };
    LimiterRequest.encode(named, writer);
  },
  writeCancel(writer, id) {
    LimiterRequest.encode({ ...CANCEL, id }, writer);
  },
  readReply: (reader, length) => LimiterReply.decode(reader, length),
  answerOf,
};

/** The limiter's stream as a limiter speaks it. */
export const limiterServerProtocol: ServerProtocol<LimiterCall, LimiterAnswer, LimiterRequest> = {
  readRequest: (reader, length) => LimiterRequest.decode(reader, length),
  callOf,
  sizeOfAnswer: () => MESSAGE_BYTES,
  writeAnswer(writer, id, answer) {
    LimiterReply.encode(limiterReplyOf(id, answer), writer);
  },
  writeFault(writer, id, fault) {
    LimiterReply.encode({ id, outcome: { $case: 'fault', value: faultToWire(fault) } }, writer);
  },
};

/** An answer as `proto/` writes it. */
export function limiterReplyOf(id: number, answer: LimiterAnswer): LimiterReply {
  const { verdict, allowance } = answer;
  const caller = answer.caller === undefined ? undefined : callerToWire(answer.caller);
  return {
    id,
    outcome: { $case: 'answer', value: { verdict: VERDICT_TO_WIRE[verdict], allowance, caller } },
  };
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
function answerOf({ outcome }: LimiterReply): LimiterAnswer {
  if (outcome === undefined) throw brokenMessage('outcome');
  if (outcome.$case === 'fault') throw faultFromWire(outcome.value);
  const verdict = VERDICT_FROM_WIRE.get(outcome.value.verdict);
  const allowance: Allowance | undefined = outcome.value.allowance;
  if (verdict === undefined) throw brokenMessage('verdict');
  if ((allowance === undefined) !== (verdict === 'unknown_key')) throw brokenMessage('allowance');
  if (allowance !== undefined) trustAllowance(allowance);
  const { caller } = outcome.value;
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
  trustInteger(allowance.windowResetAtS, 0, Number.MAX_SAFE_INTEGER, 'end of the window');
  trustInteger(allowance.cyclesPerMonth, 0, Number.MAX_SAFE_INTEGER, 'cycles per month');
  trustInteger(allowance.cyclesRemaining, 0, Number.MAX_SAFE_INTEGER, 'remaining cycles');
  trustInteger(allowance.monthResetAtS, 0, Number.MAX_SAFE_INTEGER, 'end of the month');
}
