import { Fault } from '#errors/fault';
import type { EngineAnswer, EngineCall, EngineCommand } from '#grpc/engine-messages';
import type { LimiterAnswer, LimiterCall, Verdict } from '#grpc/limiter-messages';
import { plainCall } from '#test/support/calls/engine-calls';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const ACCOUNT_ID = 'Acc0unt00001';
const INSTANCE_ID = 'inst_00000000000000aa';

const observation = (timestampMs: number | undefined) => ({
  mode: 2,
  signal: 1 / 3,
  confidence: 0.5,
  contextJson: '{"place":"kitchen"}',
  timestampMs,
});

const PAGE = { limit: 20, offset: 2 ** 53 - 1, isEveryGeneration: true };

const COMMANDS: readonly EngineCommand[] = [
  {
    kind: 'create',
    name: 'Ada',
    description: 'with \u{1f600}',
    modeStrengths: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 1],
    energyLevel: 0.8,
    instancesMax: 1_000,
  },
  { kind: 'readInstance' },
  { kind: 'rename', name: 'Bo', description: undefined },
  { kind: 'rename', name: undefined, description: undefined, tagsJson: '{"team":"docs"}' },
  { kind: 'remove' },
  {
    kind: 'process',
    observations: [observation(undefined)],
    isBatch: false,
    isEveryStateWanted: false,
  },
  {
    kind: 'process',
    observations: [observation(1_768_478_400_000), observation(1_768_478_401_000)],
    isBatch: true,
    isEveryStateWanted: true,
  },
  { kind: 'readSnapshot' },
  { kind: 'readContract' },
  { kind: 'reset', mode: 'initial' },
  { kind: 'reset', mode: 'default' },
  { kind: 'readHistory', ...PAGE },
  { kind: 'readDrift', ...PAGE, isPaged: true },
  { kind: 'list', limit: 20, offset: 40, sort: 'name', order: 'asc' },
  {
    kind: 'putListingRow',
    version: 4,
    name: 'Ada',
    description: 'listed',
    createdAtMs: 1_768_478_400_000,
  },
  { kind: 'removeListingRow', version: 5 },
  {
    kind: 'trim',
    history: 40,
    drift: 3,
    generation: 2,
    cycle: 7,
    timestampMs: 1_768_435_200_000,
    state: '\u0000\u00ffstate',
  },
  { kind: 'list', limit: 20, offset: 0, sort: 'name', order: 'asc', search: 'Ada' },
  { kind: 'readSummaries', instanceIds: [INSTANCE_ID, 'inst_00000000000000bb'] },
  { kind: 'reservePlace', instancesMax: 1_000 },
];

/** A call for every command, and a call with all optional fields. */
export function sampleEngineCalls(): readonly EngineCall[] {
  const calls = COMMANDS.map((command, index) => {
    const isOfNone = command.kind === 'list' || command.kind === 'readSummaries';
    const instanceId = isOfNone ? '' : INSTANCE_ID;
    const callId = 2 ** 50 + index;
    return plainCall({ accountId: ACCOUNT_ID, instanceId, callId, deadlineAtMs: 0, command });
  });
  const full = {
    idempotency: { key: 'again', fingerprint: 'ab12', isNameUnsure: true },
    isReplayOnly: true,
    ifMatch: '"snap_0000000000000001"',
    modelVersion: '1.0',
    traceparent: TRACEPARENT,
  } as const;
  return [...calls, ...calls.slice(5, 6).map((call) => ({ ...call, ...full }))];
}

/** Every kind of engine answer. */
export function sampleEngineAnswers(): readonly EngineAnswer[] {
  const body = Buffer.from('{"data":{"id":"inst_00000000000000aa"}}');
  const plain = { body, etag: '"snap_0000000000000001"', throttledRetryAfterS: 0 };
  return [
    { ...plain, cycles: 1, isReplayed: false },
    { ...plain, cycles: 0, isReplayed: true },
    { ...plain, cycles: 0, isReplayed: false, throttledRetryAfterS: 1 },
  ];
}

/** Every kind of limiter call. */
export function sampleLimiterCalls(): readonly LimiterCall[] {
  const name = { accountId: ACCOUNT_ID, callId: 2 ** 51 + 1, callTag: 2 ** 50 + 3 };
  const admit = { kind: 'admit', ...name, keyDigest: 'x'.repeat(43), cycles: 20 } as const;
  return [
    { ...admit, scope: 'full', isCallerDescribed: false },
    { ...admit, scope: 'read', isCallerDescribed: true, traceparent: TRACEPARENT },
    { ...admit, scope: 'read', isCallerDescribed: false, address: '192.0.2.1', client: 'curl/8' },
    { ...admit, scope: 'full', isCallerDescribed: false, isOfMember: true },
    { kind: 'settle', ...name, cyclesUsed: 19 },
  ];
}

const VERDICTS: readonly Verdict[] = [
  ...(['admitted', 'settled', 'read_only_key', 'account_suspended'] as const),
  ...(['rate_limited', 'quota_exceeded', 'address_not_allowed'] as const),
];

/** Every kind of limiter answer. */
export function sampleLimiterAnswers(): readonly LimiterAnswer[] {
  const allowance = {
    requestsPerMinute: 300,
    requestsRemaining: 299,
    windowResetAtS: 1_768_478_460,
    cyclesPerMonth: 1_000_000_000_000,
    cyclesRemaining: 999_999_999_980,
    monthResetAtS: 1_769_904_000,
    instances: 100_000,
  };
  const caller = { plan: 'pro', keyId: 'key_0000000000000001', keyScope: 'full' } as const;
  return [
    ...VERDICTS.map((verdict) => ({ verdict, allowance })),
    { verdict: 'unknown_key', allowance: undefined },
    {
      verdict: 'admitted',
      allowance: { ...allowance, modelVersion: '1.0' },
      caller: { ...caller, keyExpiresAtMs: 1_800_000_000_000 },
    },
  ];
}

/** Refusals with all optional fields. */
export function sampleFaults(): readonly Fault[] {
  const owner = { incarnation: 'engine-1.00', address: '10.0.0.7:8100', epoch: 7 };
  return [
    new Fault('not_found', 'no such instance'),
    new Fault('invalid_request', 'too long', { reason: 'too_long', field: 'name' }),
    new Fault('service_unavailable', 'moved', { reason: 'not_owner', retryAfterS: 1, owner }),
    new Fault('internal', 'internal error', { isOutcomeUnknown: true }),
  ];
}
