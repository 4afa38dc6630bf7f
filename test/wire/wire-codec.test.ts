import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import {
  engineCall,
  fault,
  limiterAnswer,
  limiterCall,
  record,
  text,
  token,
} from '#test/wire/arbitrary-messages';
import { engineClientProtocol, engineServerProtocol } from '#wire/engine-codec';
import type { EngineAnswer, EngineCall } from '#wire/engine-messages';
import { faultFromWire, faultToWire } from '#wire/fault-codec';
import type { EngineRequest } from '#wire/gen/identity_engine/v1/engine';
import type { LimiterAnswer, LimiterRequest } from '#wire/gen/identity_engine/v1/limiter';
import { limiterClientProtocol, limiterServerProtocol } from '#wire/limiter-codec';

function fieldsOf(fault: Fault) {
  const { code, message, reason, field, retryAfterS, isOutcomeUnknown, owner } = fault;
  return { code, message, reason, field, retryAfterS, isOutcomeUnknown, owner };
}

/** Writes with one side and reads with the other. */
function through<Result>(
  write: (writer: BinaryWriter) => void,
  read: (reader: BinaryReader, length: number) => Result,
): { result: Result; size: number } {
  const writer = new BinaryWriter();
  write(writer);
  const bytes = writer.finish();
  return { result: read(new BinaryReader(bytes), bytes.length), size: bytes.length };
}

function sentEngineCall(call: EngineCall): { result: EngineRequest; size: number } {
  return through(
    (writer) => engineClientProtocol.writeCall(writer, 7, 1_234, call),
    engineServerProtocol.readRequest,
  );
}

const crossing = suite('when a message crosses the wire');

crossing('every engine call arrives as it was sent, within its announced size', async () => {
  await fc.assert(
    fc.property(engineCall, (call) => {
      const { result, size } = sentEngineCall(call);
      assert.is(result.id, 7);
      assert.is(result.timeoutMs, 1_234);
      assert.equal(engineServerProtocol.callOf(result, call.deadlineAtMs), call);
      assert.ok(size <= engineClientProtocol.sizeOfCall(call));
    }),
    { numRuns: 500 },
  );
});

crossing('the largest look at instances fits its announced size', () => {
  const instanceIds = Array.from({ length: 100 }, () => '\u4e16'.repeat(255));
  const call: EngineCall = {
    accountId: 'acct_1',
    instanceId: '',
    callId: 0,
    deadlineAtMs: 0,
    idempotency: undefined,
    isReplayOnly: false,
    ifMatch: undefined,
    command: { kind: 'peek', instanceIds },
  };
  const { result, size } = sentEngineCall(call);
  assert.equal(engineServerProtocol.callOf(result, 0), call);
  assert.ok(size <= engineClientProtocol.sizeOfCall(call));
});

crossing('every engine answer arrives as it was given, text as its UTF-8 bytes', async () => {
  const numbers = { cycles: fc.nat({ max: 100 }), throttledRetryAfterS: fc.nat({ max: 2 ** 31 }) };
  const rest = { etag: token, isReplayed: fc.boolean(), ...numbers };
  await fc.assert(
    fc.property(text(0, 40_000), fc.boolean(), record(rest), (body, isText, fields) => {
      const bytes = Buffer.from(body);
      const answer: EngineAnswer = { ...fields, body: isText ? body : bytes };
      const { result, size } = through(
        (writer) => engineServerProtocol.writeAnswer(writer, 7, answer),
        engineClientProtocol.readReply,
      );
      const arrived = engineClientProtocol.answerOf(result);
      assert.is(result.id, 7);
      assert.ok(bytes.equals(Buffer.from(arrived.body)));
      assert.equal({ ...arrived, body }, { ...answer, body });
      assert.ok(size <= engineServerProtocol.sizeOfAnswer(answer));
    }),
  );
});

crossing('the body of an answer is a view of the frame, not a copy', () => {
  const answer = { body: 'abc', etag: '', cycles: 1, throttledRetryAfterS: 0, isReplayed: false };
  const writer = new BinaryWriter();
  engineServerProtocol.writeAnswer(writer, 1, answer);
  const frame = Buffer.from(writer.finish());
  const reply = engineClientProtocol.readReply(new BinaryReader(frame), frame.length);
  const { body } = engineClientProtocol.answerOf(reply);
  assert.instance(body, Buffer);
  assert.is((body as Buffer).buffer, frame.buffer);
});

crossing('every limiter call and answer arrives as it was sent', async () => {
  await fc.assert(
    fc.property(limiterCall, limiterAnswer, (call, answer) => {
      const sent = through(
        (writer) => limiterClientProtocol.writeCall(writer, 3, 100, call),
        limiterServerProtocol.readRequest,
      );
      assert.equal(limiterServerProtocol.callOf(sent.result, 0), call);
      assert.ok(sent.size <= limiterClientProtocol.sizeOfCall(call));
      const replied = through(
        (writer) => limiterServerProtocol.writeAnswer(writer, 3, answer),
        limiterClientProtocol.readReply,
      );
      assert.equal(limiterClientProtocol.answerOf(replied.result), answer);
      assert.ok(replied.size <= limiterServerProtocol.sizeOfAnswer(answer));
    }),
  );
});

crossing('every fault arrives with all its fields, on both streams', async () => {
  await fc.assert(
    fc.property(fault, (sent) => {
      assert.equal(fieldsOf(faultFromWire(faultToWire(sent))), fieldsOf(sent));
      const engine = through(
        (writer) => engineServerProtocol.writeFault(writer, 1, sent),
        engineClientProtocol.readReply,
      );
      assert.equal(
        thrownBy(() => engineClientProtocol.answerOf(engine.result)),
        fieldsOf(sent),
      );
      const limiter = through(
        (writer) => limiterServerProtocol.writeFault(writer, 1, sent),
        limiterClientProtocol.readReply,
      );
      assert.equal(
        thrownBy(() => limiterClientProtocol.answerOf(limiter.result)),
        fieldsOf(sent),
      );
    }),
  );
});

const lying = suite('when a peer lies');

const honestCall: EngineCall = {
  accountId: 'acct_1',
  instanceId: 'inst_1',
  callId: 1,
  deadlineAtMs: 0,
  idempotency: undefined,
  isReplayOnly: false,
  ifMatch: undefined,
  command: {
    kind: 'process',
    observations: [
      { mode: 2, signal: 0.5, confidence: 1, contextJson: '{}', timestampMs: undefined },
    ],
    isBatch: false,
    isEveryStateWanted: false,
  },
};

const PEEK = { kind: 'peek', instanceIds: ['inst_1'] } as const;

function refusesOperation(name: string, value: EngineRequest['command']): void {
  const request = { ...sentEngineCall(honestCall).result, command: value };
  assert.is(thrownBy(() => engineServerProtocol.callOf(request, 0)).code, 'internal', name);
}

lying('a call that no engine could be asked is refused', () => {
  const honest = { mode: 0, signal: 0.5, confidence: 1, contextJson: '{}', timestampMs: 0 };
  const process = (observations: (typeof honest)[], batch = false) =>
    ({ $case: 'process', value: { observations, batch, everyStateWanted: false } }) as const;
  const create = { name: 'a', description: '', modeStrengths: Array(7).fill(0.5), energyLevel: 1 };
  const records = { limit: 1, offset: 0, everyGeneration: false, paged: false };
  const list = { limit: 1, offset: 0, byName: false, ascending: false };
  refusesOperation('none', undefined);
  refusesOperation('mode', process([{ ...honest, mode: 7 }]));
  refusesOperation('signal', process([{ ...honest, signal: Number.NaN }]));
  refusesOperation('confidence', process([{ ...honest, confidence: 1.01 }]));
  refusesOperation('infinite', process([{ ...honest, confidence: Number.POSITIVE_INFINITY }]));
  refusesOperation('context', process([{ ...honest, contextJson: 'x'.repeat(8_193) }]));
  for (const timestampMs of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    refusesOperation('timestamp', process([{ ...honest, timestampMs }]));
  }
  refusesOperation('nothing', process([], true));
  refusesOperation('two, not a batch', process([honest, honest]));
  refusesOperation('too many', process(Array(101).fill(honest), true));
  refusesOperation('modes', { $case: 'create', value: { ...create, modeStrengths: [0.5] } });
  refusesOperation('strength', {
    $case: 'create',
    value: { ...create, modeStrengths: Array(7).fill(2) },
  });
  refusesOperation('energy', { $case: 'create', value: { ...create, energyLevel: Number.NaN } });
  refusesOperation('name', { $case: 'create', value: { ...create, name: '' } });
  refusesOperation('new name', { $case: 'rename', value: { name: 'x'.repeat(201) } });
  refusesOperation('limit', { $case: 'readHistory', value: { ...records, limit: 1_001 } });
  refusesOperation('page', { $case: 'list', value: { ...list, limit: 101 } });
  const row = { version: 1, name: 'a', description: '', createdAtMs: 0 };
  refusesOperation('no version', { $case: 'putListingRow', value: { ...row, version: 0 } });
  refusesOperation('no name', { $case: 'putListingRow', value: { ...row, name: '' } });
  refusesOperation('removal', { $case: 'removeListingRow', value: { version: 0 } });
});

lying('a look at too many instances, or at none, is refused', () => {
  const { result } = sentEngineCall({ ...honestCall, instanceId: '', command: PEEK });
  assert.equal(engineServerProtocol.callOf(result, 0).command, PEEK);
  for (const instanceIds of [[], [''], Array<string>(101).fill('inst_1'), ['x'.repeat(256)]]) {
    const command = { $case: 'peek', value: { instanceIds } } as const;
    const call = () => engineServerProtocol.callOf({ ...result, command }, 0);
    assert.is(thrownBy(call).code, 'internal');
  }
});

lying('a call with impossible ids is refused', () => {
  const { result } = sentEngineCall(honestCall);
  const refuses = (change: Partial<EngineRequest>) => {
    const request = { ...result, ...change };
    assert.is(thrownBy(() => engineServerProtocol.callOf(request, 0)).code, 'internal');
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
  refuses({ command: { $case: 'peek', value: { instanceIds: ['inst_1'] } } });
  refuses({ instanceId: '', command: { $case: 'removeListingRow', value: { version: 1 } } });
});

lying('a question that no edge asks a limiter is refused', () => {
  const honest = { id: 1, timeoutMs: 100, accountId: 'acct_1', callId: 1, callTag: 0 };
  const admit = { keyDigest: '', writes: true, cycles: 1, describesCaller: false };
  const settle = { $case: 'settle', value: { cyclesUsed: 1 } } as const;
  const refuses = (change: Partial<LimiterRequest>) => {
    const request = { ...honest, call: settle, ...change };
    assert.is(thrownBy(() => limiterServerProtocol.callOf(request, 0)).code, 'internal');
  };
  for (const callId of [2 ** 52, -1, 0.5, Number.NaN]) refuses({ callId });
  for (const callTag of [2 ** 52, -1, 0.5, Number.NaN]) refuses({ callTag });
  refuses({ accountId: '' });
  refuses({ call: undefined });
  refuses({ call: { $case: 'settle', value: { cyclesUsed: 101 } } });
  refuses({ call: { $case: 'admit', value: admit } });
});

lying('an answer that no engine or limiter gives is refused, and its outcome is unknown', () => {
  const answer = {
    body: new Uint8Array(0),
    etag: '',
    cycles: 0,
    throttledRetryAfterS: 0,
    replayed: false,
  };
  const wireFault = { code: 'not_found', message: '', reason: '', outcomeUnknown: false };
  const somebody = { incarnation: 'inc_1', address: 'host:1', epoch: 1 };
  const nobody = { ...somebody, incarnation: '' };
  const engine = engineClientProtocol.answerOf;
  const limiter = limiterClientProtocol.answerOf;
  const numbers = {
    requestsPerMinute: 1,
    requestsRemaining: 1,
    windowResetAtS: 1,
    cyclesPerMonth: 1,
    cyclesRemaining: 1,
    monthResetAtS: 1,
    instances: 1_000,
  };
  const described = { plan: 'pro', keyId: 'key_1', mayWrite: true };
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
    () => engine({ id: 1, outcome: { $case: 'fault', value: { ...wireFault, reason: 'no' } } }),
    () => engine({ id: 1, outcome: { $case: 'fault', value: { ...wireFault, owner: nobody } } }),
    () =>
      engine({
        id: 1,
        outcome: { $case: 'fault', value: { ...wireFault, owner: { ...somebody, epoch: 0 } } },
      }),
    () => limiter({ id: 1, outcome: undefined }),
    () => admits({ verdict: 0 }),
    () => admits({ allowance: undefined }),
    () => admits({ verdict: 3 }),
    () => admits({ verdict: 6, caller: described }),
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

lying('random bytes are refused or read as a message, never anything else', async () => {
  await fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        const request = engineServerProtocol.readRequest(new BinaryReader(bytes), bytes.length);
        engineServerProtocol.callOf(request, 0);
      } catch (error) {
        assert.instance(error, Error);
      }
    }),
    { numRuns: 2_000 },
  );
});

function thrownBy(task: () => unknown): ReturnType<typeof fieldsOf> {
  try {
    task();
  } catch (error) {
    if (error instanceof Fault) return fieldsOf(error);
    throw error;
  }
  throw new Error('nothing was thrown');
}

crossing.run();
lying.run();
