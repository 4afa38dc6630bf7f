import * as fc from 'fast-check';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import { type FaultReason, PEER_REASONS, type PeerReason, REASONS } from '#errors/error-reasons';
import { Fault } from '#errors/fault';
import type { EngineAnswer, EngineCall, EngineCommand } from '#grpc/engine-messages';
import type { LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';

/**
 * An arbitrary for records whose values have the prototype of plain objects and compare equal to
 * them.
 */
function record<T>(model: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

const unit = fc.double({ min: 0, max: 1, noNaN: true });
/** Text of any language, `min` to `max` UTF-16 units long. */
const text = (min: number, max: number) =>
  fc.string({ unit: 'grapheme', minLength: min, maxLength: max / 20 });
/** A non-empty text that could be an id. */
const token = fc.string({ minLength: 1, maxLength: 60 });

/** Any address for a connection. */
const hostPort = fc
  .tuple(
    fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((ip) => `[${ip}]`),
    ),
    fc.nat(65_535),
  )
  .map(([host, port]) => `${host}:${port}`);
const callId = fc.nat({ max: 2 ** 52 - 1 });
const offset = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const version = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const page = { limit: fc.integer({ min: 1, max: 1_000 }), offset, isEveryGeneration: fc.boolean() };

const observation = record({
  mode: fc.nat({ max: 6 }),
  signal: unit,
  confidence: unit,
  contextJson: fc.json({ maxDepth: 2 }).filter((json) => json.length >= 2),
  timestampMs: fc.option(fc.nat({ max: 8.64e15 }), { nil: undefined }),
});

const cursor = record({ ordinal: offset, drift: offset, generation: offset, version: offset });

/** A fork with its start. Strengths and energy are not sent. */
const forkCommand: fc.Arbitrary<EngineCommand> = record({
  parentId: token,
  generation: version,
  cycle: offset,
  originMs: fc.nat({ max: 8.64e15 }),
  observedAtMs: fc.option(fc.nat({ max: 8.64e15 }), { nil: undefined }),
  modelVersion: token,
  state: fc
    .uint8Array({ minLength: 1, maxLength: 800 })
    .map((bytes) => Buffer.from(bytes).toString('latin1')),
}).map((start) => {
  const { cycle, generation } = start;
  const none = { modeStrengths: [], energyLevel: 0 };
  const fork = { cycle, generation, start };
  return { kind: 'create' as const, name: 'a fork', description: '', ...none, fork };
});

const untagged: fc.Arbitrary<EngineCommand> = fc.oneof(
  record({
    kind: fc.constant('create' as const),
    name: text(1, 200),
    description: text(0, 4_000),
    modeStrengths: fc.array(unit, { minLength: 7, maxLength: 7 }),
    energyLevel: unit,
  }),
  fc.constantFrom(
    { kind: 'readInstance' } as const,
    { kind: 'remove' } as const,
    { kind: 'readSnapshot' } as const,
    { kind: 'readContract' } as const,
    { kind: 'reset', mode: 'initial' } as const,
    { kind: 'reset', mode: 'default' } as const,
  ),
  record({
    kind: fc.constant('rename' as const),
    name: fc.option(text(0, 200), { nil: undefined }),
    description: fc.option(text(0, 4_000), { nil: undefined }),
  }),
  record({
    kind: fc.constant('process' as const),
    observations: fc.array(observation, { minLength: 1, maxLength: 20 }),
    isBatch: fc.constant(true),
    isEveryStateWanted: fc.boolean(),
  }),
  record({
    kind: fc.constant('process' as const),
    observations: fc.array(observation, { minLength: 1, maxLength: 1 }),
    isBatch: fc.constant(false),
    isEveryStateWanted: fc.constant(false),
    isBrief: fc.constant(true),
  }),
  record({
    kind: fc.constant('simulate' as const),
    observations: fc.array(observation, { minLength: 1, maxLength: 20 }),
  }),
  record({
    kind: fc.constant('readEvents' as const),
    after: fc.option(cursor, { nil: undefined }),
    waitMs: fc.nat({ max: 10_000 }),
  }),
  record({ kind: fc.constant('readHistory' as const), ...page }),
  record({ kind: fc.constant('readDrift' as const), ...page, isPaged: fc.boolean() }),
  record({
    kind: fc.constant('list' as const),
    limit: fc.integer({ min: 1, max: 100 }),
    offset,
    sort: fc.constantFrom('created_at' as const, 'name' as const),
    order: fc.constantFrom('asc' as const, 'desc' as const),
  }),
  record({
    kind: fc.constant('list' as const),
    ...{ limit: fc.integer({ min: 1, max: 100 }), offset },
    sort: fc.constantFrom('created_at' as const, 'name' as const),
    order: fc.constantFrom('asc' as const, 'desc' as const),
    search: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
  }),
  record({
    kind: fc.constant('putListingRow' as const),
    version,
    name: text(1, 200),
    description: text(0, 4_000),
    createdAtMs: fc.nat({ max: 8.64e15 }),
  }),
  record({ kind: fc.constant('removeListingRow' as const), version }),
  record({
    kind: fc.constant('readStates' as const),
    generation: fc.option(version, { nil: undefined }),
    cycles: fc.array(offset, { minLength: 1, maxLength: 10 }),
    points: fc.constant(0),
  }),
  record({
    kind: fc.constant('readForkStart' as const),
    generation: fc.option(version, { nil: undefined }),
    cycle: offset,
  }),
  forkCommand,
  record({
    kind: fc.constant('trim' as const),
    history: version,
    drift: offset,
    generation: version,
    cycle: version,
    timestampMs: fc.nat({ max: 8.64e15 }),
    state: fc.option(
      fc
        .uint8Array({ minLength: 1, maxLength: 800 })
        .map((bytes) => Buffer.from(bytes).toString('latin1')),
      { nil: undefined },
    ),
  }),
  record({
    kind: fc.constant('readSummaries' as const),
    instanceIds: fc.array(token, { minLength: 1, maxLength: 100 }),
  }),
);

const tagsJson = fc
  .dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), { maxKeys: 16 })
  .map((tags) => JSON.stringify(tags));

const command = fc.oneof(
  untagged,
  fc.tuple(untagged, tagsJson).map(([given, tags]): EngineCommand => {
    const mayHaveTags = given.kind === 'create' || given.kind === 'rename';
    return mayHaveTags ? { ...given, tagsJson: tags } : given;
  }),
);

const ofNoInstance = ['list', 'readSummaries'];

const idempotencyKey = fc.oneof(
  record({ key: token, fingerprint: token }),
  record({ key: token, fingerprint: token, isNameUnsure: fc.constant(true as const) }),
);

/** Any call of an account that has chosen no model. */
const plainCall: fc.Arbitrary<EngineCall> = record({
  accountId: token,
  instanceId: token,
  callId,
  deadlineAtMs: fc.constant(1_800_000_000_000),
  idempotency: fc.option(idempotencyKey, { nil: undefined }),
  isReplayOnly: fc.boolean(),
  ifMatch: fc.option(fc.string({ maxLength: 60 }), { nil: undefined }),
  command,
}).map((call) => (ofNoInstance.includes(call.command.kind) ? { ...call, instanceId: '' } : call));

/** Any call that an edge or another engine may send to an engine. */
export const engineCall: fc.Arbitrary<EngineCall> = fc.oneof(
  plainCall,
  fc.tuple(plainCall, token).map(([call, modelVersion]) => ({ ...call, modelVersion })),
);

/** An answer with its body as text or as bytes. */
const plainAnswer: fc.Arbitrary<EngineAnswer> = record({
  body: text(0, 40_000).chain((body) => fc.constantFrom(body, Buffer.from(body))),
  etag: token,
  isReplayed: fc.boolean(),
  cycles: fc.nat({ max: 100 }),
  throttledRetryAfterS: fc.nat({ max: 2 ** 31 }),
});

/** JSON data parsed from text. */
const json = fc.json({ maxDepth: 3 }).map((text): unknown => JSON.parse(text));
/** Any answer of an engine. An answer with events also has the cursor for the next read. */
export const engineAnswer: fc.Arbitrary<EngineAnswer> = fc.oneof(
  plainAnswer,
  fc.tuple(plainAnswer, cursor).map(([answer, next]) => ({ ...answer, cursor: next })),
);

/** Any call that an edge may send to a limiter. */
export const limiterCall: fc.Arbitrary<LimiterCall> = fc.oneof(
  record({
    kind: fc.constant('admit' as const),
    accountId: token,
    keyDigest: token,
    callId,
    callTag: callId,
    scope: fc.constantFrom('read' as const, 'full' as const),
    cycles: fc.nat({ max: 100 }),
    isCallerDescribed: fc.boolean(),
    address: fc.option(fc.string({ minLength: 1, maxLength: 64 }), { nil: undefined }),
    client: fc.option(fc.stringMatching(/^[ -~]{0,120}$/), { nil: undefined }),
    isOfMember: fc.constantFrom(true as const, undefined),
  }),
  record({
    kind: fc.constant('settle' as const),
    accountId: token,
    callId,
    callTag: callId,
    cyclesUsed: fc.nat({ max: 100 }),
  }),
  record({
    kind: fc.constant('account' as const),
    accountId: token,
    callId,
    callTag: callId,
    name: token,
    body: json,
  }),
);

const allowance = record({
  requestsPerMinute: fc.nat(),
  requestsRemaining: fc.nat(),
  windowResetAtS: offset,
  cyclesPerMonth: offset,
  cyclesRemaining: offset,
  monthResetAtS: offset,
  instances: fc.integer({ min: 0, max: 1_000_000 }),
  modelVersion: fc.option(token, { nil: undefined }),
});
const caller = record({
  plan: token,
  keyId: token,
  keyScope: fc.constantFrom('read' as const, 'full' as const),
  keyExpiresAtMs: fc.option(offset, { nil: undefined }),
});
/** Any answer of a limiter. */
export const limiterAnswer: fc.Arbitrary<LimiterAnswer> = fc.oneof(
  record({
    verdict: fc.constantFrom(
      'admitted' as const,
      'settled' as const,
      'address_not_allowed' as const,
      'read_only_key' as const,
      'account_suspended' as const,
      'rate_limited' as const,
      'quota_exceeded' as const,
    ),
    allowance,
  }),
  record({ verdict: fc.constant('admitted' as const), allowance, caller }),
  fc.constant({ verdict: 'unknown_key' as const, allowance: undefined }),
  record({
    verdict: fc.constant('answered' as const),
    allowance: fc.constant(undefined),
    body: json,
  }),
);

const reasons = [
  ...(Object.keys(REASONS) as FaultReason[]),
  ...(Object.keys(PEER_REASONS) as PeerReason[]),
];

/** Any refusal. */
export const fault = record({
  code: fc.constantFrom(...(Object.keys(FAULTS) as FaultCode[])),
  message: text(0, 4_000),
  reason: fc.option(fc.constantFrom(...reasons), { nil: undefined }),
  field: fc.option(fc.string({ maxLength: 60 }), { nil: undefined }),
  firstCycle: fc.option(offset, { nil: undefined }),
  retryAfterS: fc.option(fc.nat(), { nil: undefined }),
  isOutcomeUnknown: fc.boolean(),
  owner: fc.option(record({ incarnation: token, address: hostPort, epoch: version }), {
    nil: undefined,
  }),
}).map(({ code, message, reason, field, firstCycle, retryAfterS, isOutcomeUnknown, owner }) => {
  const optional = {
    ...(reason === undefined ? {} : { reason }),
    ...(field === undefined ? {} : { field }),
    ...(firstCycle === undefined ? {} : { firstCycle }),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    ...(owner === undefined ? {} : { owner }),
  };
  return new Fault(code, message, { ...optional, isOutcomeUnknown });
});
