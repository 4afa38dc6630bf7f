import { BinaryReader } from '@bufbuild/protobuf/wire';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { engineProtocol } from '#grpc/engine-codec';
import { answerOf } from '#grpc/frame-protocol';
import type { EngineReply, EngineRequest } from '#grpc/gen/identity_engine/v1/engine';
import type {
  LimiterAnswer,
  LimiterReply,
  LimiterRequest,
} from '#grpc/gen/identity_engine/v1/limiter';
import { limiterProtocol } from '#grpc/limiter-codec';
import { sentCall, thrownBy } from '#test/grpc/codec-crossing';
import { NO_TRACE } from '#test/grpc/wire-peers';
import { plainCall } from '#test/support/calls/engine-calls';

const lying = suite('when a peer sends invalid messages');

const honestCall = plainCall({
  accountId: 'acct_1',
  instanceId: 'inst_1',
  callId: 1,
  deadlineAtMs: 0,
  command: {
    kind: 'process',
    observations: [
      { mode: 2, signal: 0.5, confidence: 1, contextJson: '{}', timestampMs: undefined },
    ],
    isBatch: false,
    isEveryStateWanted: false,
  },
});

const READ_SUMMARIES = { kind: 'readSummaries', instanceIds: ['inst_1'] } as const;

function refusesCommand(name: string, value: EngineRequest['command']): void {
  const request = { ...sentCall(engineProtocol, honestCall).result, command: value };
  assert.is(thrownBy(() => engineProtocol.callOf(request, 0)).code, 'internal', name);
}

lying('a call that no engine accepts is refused', () => {
  const honest = { mode: 0, signal: 0.5, confidence: 1, contextJson: '{}', timestampMs: 0 };
  const process = (observations: (typeof honest)[], batch = false) =>
    ({
      $case: 'process',
      value: { observations, batch, everyStateWanted: false, brief: false },
    }) as const;
  const create = { name: 'a', description: '', modeStrengths: Array(7).fill(0.5), energyLevel: 1 };
  const records = { limit: 1, offset: 0, everyGeneration: false, paged: false };
  const list = { limit: 1, offset: 0, byName: false, ascending: false };
  refusesCommand('mode', process([{ ...honest, mode: 7 }]));
  refusesCommand('signal', process([{ ...honest, signal: Number.NaN }]));
  refusesCommand('confidence', process([{ ...honest, confidence: 1.01 }]));
  refusesCommand('infinite', process([{ ...honest, confidence: Number.POSITIVE_INFINITY }]));
  refusesCommand('context', process([{ ...honest, contextJson: 'x'.repeat(8_193) }]));
  for (const timestampMs of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    refusesCommand('timestamp', process([{ ...honest, timestampMs }]));
  }
  refusesCommand('nothing', process([], true));
  refusesCommand('two observations outside a batch', process([honest, honest]));
  refusesCommand('too many', process(Array(101).fill(honest), true));
  refusesCommand('modes', { $case: 'create', value: { ...create, modeStrengths: [0.5] } });
  refusesCommand('strength', {
    $case: 'create',
    value: { ...create, modeStrengths: Array(7).fill(2) },
  });
  refusesCommand('energy', { $case: 'create', value: { ...create, energyLevel: Number.NaN } });
  refusesCommand('name', { $case: 'create', value: { ...create, name: '' } });
  refusesCommand('new name', { $case: 'rename', value: { name: 'x'.repeat(201) } });
  const tagged = (tagsJson: string, name = 'b') =>
    ({
      $case: 'tagged',
      value: { tagsJson, change: { $case: 'rename', value: { name } } },
    }) as const;
  const pairs = Array.from({ length: 17 }, (_, n) => [n, '']);
  const long = JSON.stringify({ team: 'x'.repeat(32_768) });
  const wrong = ['', '{', '[]', 'null', '{"n":1}', JSON.stringify(Object.fromEntries(pairs)), long];
  for (const json of wrong) refusesCommand(`tags ${json.slice(0, 9)}`, tagged(json));
  refusesCommand('name beside tags', tagged('{}', 'x'.repeat(201)));
  refusesCommand('limit', { $case: 'readHistory', value: { ...records, limit: 1_001 } });
  refusesCommand('page', { $case: 'list', value: { ...list, limit: 101 } });
  const row = { version: 1, name: 'a', description: '', createdAtMs: 0 };
  refusesCommand('no version', { $case: 'putListingRow', value: { ...row, version: 0 } });
  refusesCommand('no name', { $case: 'putListingRow', value: { ...row, name: '' } });
  const trim = {
    history: 1,
    drift: 0,
    generation: 1,
    cycle: 1,
    timestampMs: 0,
    state: Buffer.of(),
  };
  refusesCommand('trim without rows', { $case: 'trim', value: { ...trim, history: 0 } });
  refusesCommand('trim', { $case: 'trim', value: { ...trim, timestampMs: -1 } });
  refusesCommand('state', { $case: 'trim', value: { ...trim, state: Buffer.alloc(8_193) } });
  refusesCommand('removal', { $case: 'removeListingRow', value: { version: 0 } });
});

lying('a read of too many instances, or of none, is refused', () => {
  const { result } = sentCall(engineProtocol, {
    ...honestCall,
    instanceId: '',
    command: READ_SUMMARIES,
  });
  assert.equal(engineProtocol.callOf(result, 0).command, READ_SUMMARIES);
  for (const instanceIds of [[], [''], Array<string>(101).fill('inst_1'), ['x'.repeat(256)]]) {
    const command = { $case: 'readSummaries', value: { instanceIds } } as const;
    const call = () => engineProtocol.callOf({ ...result, command }, 0);
    assert.is(thrownBy(call).code, 'internal');
  }
});

lying('a call with impossible ids is refused', () => {
  const { result } = sentCall(engineProtocol, honestCall);
  const refuses = (change: Partial<EngineRequest>) => {
    const request = { ...result, ...change };
    assert.is(thrownBy(() => engineProtocol.callOf(request, 0)).code, 'internal');
  };
  refuses({ accountId: '' });
  refuses({ instanceId: '' });
  refuses({ instanceId: 'x'.repeat(256) });
  for (const callId of [2 ** 52, -1, 0.5, Number.NaN]) refuses({ callId });
  refuses({ idempotencyKey: 'x'.repeat(256), idempotencyFingerprint: 'f' });
  refuses({ idempotencyKey: 'k', idempotencyFingerprint: '' });
  refuses({
    command: { $case: 'list', value: { limit: 1, offset: 0, byName: true, ascending: true } },
  });
  refuses({ command: { $case: 'readSummaries', value: { instanceIds: ['inst_1'] } } });
  refuses({ instanceId: '', command: { $case: 'removeListingRow', value: { version: 1 } } });
});

lying('a call that no edge sends to a limiter is refused', () => {
  const named = { accountId: 'acct_1', callId: 1, callTag: 0, ...NO_TRACE };
  const honest = { id: 1, timeoutMs: 100, ...named };
  const admit = {
    ...{ keyDigest: '', writes: true, cycles: 1, describesCaller: false, address: '' },
    ofMember: false,
    scope: '',
    ...{ requests: 0, partial: false },
  };
  const settle = { $case: 'settle', value: { cyclesUsed: 1, cyclesUnknown: 0 } } as const;
  const refuses = (change: Partial<LimiterRequest>) => {
    const request = { ...honest, call: settle, ...change };
    assert.is(thrownBy(() => limiterProtocol.callOf(request, 0)).code, 'internal');
  };
  for (const callId of [2 ** 52, -1, 0.5, Number.NaN]) refuses({ callId });
  for (const callTag of [2 ** 52, -1, 0.5, Number.NaN]) refuses({ callTag });
  refuses({ accountId: '' });
  refuses({ call: { $case: 'settle', value: { cyclesUsed: 1_001, cyclesUnknown: 0 } } });
  refuses({ call: { $case: 'settle', value: { cyclesUsed: 0, cyclesUnknown: 1_001 } } });
  for (const body of ['', '{', 'x'.repeat(512 * 1_024 + 1)]) {
    refuses({ call: { $case: 'account', value: { name: 'audit.page', body } } });
  }
  refuses({ call: { $case: 'account', value: { name: '', body: '{}' } } });
  refuses({ call: { $case: 'admit', value: admit } });
  const known = { ...admit, keyDigest: 'digest' };
  for (const wrong of [
    { address: 'a'.repeat(65) },
    { client: 'a'.repeat(121) },
    { client: 'curl\u001b[2J' },
    { client: 'é' },
    { scope: 'everything' },
    { cycles: 1_001 },
    { requests: 11 },
  ]) {
    refuses({ call: { $case: 'admit', value: { ...known, ...wrong } } });
  }
});

lying('an answer that no engine or limiter gives is refused, with unknown outcome', () => {
  const answer = {
    body: new Uint8Array(0),
    etag: '',
    cycles: 0,
    throttledRetryAfterS: 0,
    replayed: false,
    cursor: undefined,
  };
  const wireFault = { code: 'not_found', message: '', reason: '', outcomeUnknown: false };
  const owner = { incarnation: 'inc_1', address: 'host:1', epoch: 1 };
  const nameless = { ...owner, incarnation: '' };
  const engine = (reply: EngineReply) => answerOf(engineProtocol, reply);
  const limiter = (reply: LimiterReply) => answerOf(limiterProtocol, reply);
  const numbers = {
    requestsPerMinute: 1,
    requestsRemaining: 1,
    windowResetAtS: 1,
    cyclesPerMonth: 1,
    cyclesRemaining: 1,
    monthResetAtS: 1,
    instances: 1_000,
  };
  const described = { plan: 'pro', keyId: 'key_1', mayWrite: true, keyScope: 'full' };
  const admits = (change: Partial<LimiterAnswer>) => {
    const value = { verdict: 1, allowance: numbers, caller: undefined, ...change } as const;
    return limiter({ id: 1, outcome: { $case: 'answer', value } });
  };
  for (const lie of [
    () => engine({ id: 1, outcome: undefined }),
    () => engine({ id: 1, outcome: { $case: 'answer', value: { ...answer, cycles: 101 } } }),
    () =>
      engine({ id: 1, outcome: { $case: 'answer', value: { ...answer, etag: 'x'.repeat(300) } } }),
    () => engine({ id: 1, outcome: { $case: 'fault', value: { ...wireFault, code: 'toString' } } }),
    () => engine({ id: 1, outcome: { $case: 'fault', value: { ...wireFault, owner: nameless } } }),
    () =>
      engine({
        id: 1,
        outcome: { $case: 'fault', value: { ...wireFault, owner: { ...owner, epoch: 0 } } },
      }),
    () => limiter({ id: 1, outcome: undefined }),
    () => admits({ verdict: 0 }),
    () => admits({ allowance: undefined }),
    () => admits({ verdict: 3 }),
    () => admits({ verdict: 6, caller: described }),
    () => admits({ cycles: 1_001 }),
    () => admits({ caller: { ...described, plan: '' } }),
    () => admits({ caller: { ...described, keyId: '' } }),
    () => admits({ caller: { ...described, keyExpiresAtMs: 0.5 } }),
    ...['windowResetAtS', 'cyclesPerMonth', 'cyclesRemaining', 'monthResetAtS'].flatMap((name) =>
      [-1, 0.5, Number.NaN, 2 ** 53].map((number) => () => {
        admits({ allowance: { ...numbers, [name]: number } });
      }),
    ),
  ]) {
    const { code, isOutcomeUnknown } = thrownBy(lie);
    assert.equal({ code, isOutcomeUnknown }, { code: 'internal', isOutcomeUnknown: true });
  }
});

lying('an unknown reason of a later release is dropped, and the code remains', () => {
  const value = { code: 'not_found', message: 'm', reason: 'no', outcomeUnknown: false };
  const { code, reason, message } = thrownBy(() =>
    answerOf(engineProtocol, { id: 1, outcome: { $case: 'fault', value } }),
  );
  assert.equal([code, reason, message], ['not_found', undefined, 'm']);
});

lying('random bytes are refused or decoded as a message, and have no other effect', async () => {
  await fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        const request = engineProtocol.request.decode(new BinaryReader(bytes), bytes.length);
        engineProtocol.callOf(request, 0);
      } catch (error) {
        assert.instance(error, Error);
      }
    }),
    { numRuns: 2_000 },
  );
});

lying.run();
