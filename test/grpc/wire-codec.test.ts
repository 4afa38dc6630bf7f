import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { engineProtocol } from '#grpc/engine-codec';
import { faultFromWire, faultToWire } from '#grpc/frame';
import { answerOf } from '#grpc/frame-protocol';
import { limiterProtocol } from '#grpc/limiter-codec';
import * as arbitrary from '#test/grpc/arbitrary-messages';
import { fieldsOf, sentAnswer, sentCall, sentFault, thrownBy } from '#test/grpc/codec-crossing';
import { plainCall } from '#test/support/calls/engine-calls';

const crossing = suite('when a message crosses the wire');

crossing(
  'every engine call is decoded as it was sent, and is no larger than its announced size',
  async () => {
    await fc.assert(
      fc.property(arbitrary.engineCall, (call) => {
        const { result, size } = sentCall(engineProtocol, call);
        assert.is(result.id, 7);
        assert.is(result.timeoutMs, 1_234);
        assert.equal(engineProtocol.callOf(result, call.deadlineAtMs), call);
        assert.ok(size <= engineProtocol.sizeOfCall(call));
      }),
      { numRuns: 500 },
    );
  },
);

crossing('the largest read of summaries is no larger than its announced size', () => {
  const instanceIds = Array.from({ length: 100 }, () => '\u4e16'.repeat(255));
  const call = plainCall({
    ...{ accountId: 'acct_1', instanceId: '', callId: 0, deadlineAtMs: 0 },
    command: { kind: 'readSummaries', instanceIds },
  });
  const { result, size } = sentCall(engineProtocol, call);
  assert.equal(engineProtocol.callOf(result, 0), call);
  assert.ok(size <= engineProtocol.sizeOfCall(call));
});

crossing('every engine answer is decoded as it was sent, with text as UTF-8 bytes', async () => {
  await fc.assert(
    fc.property(arbitrary.engineAnswer, (answer) => {
      const body = Buffer.from(answer.body);
      const { result, size } = sentAnswer(engineProtocol, answer);
      const arrived = answerOf(engineProtocol, result);
      assert.is(result.id, 7);
      assert.ok(body.equals(Buffer.from(arrived.body)));
      assert.equal({ ...arrived, body }, { ...answer, body });
      assert.ok(size <= engineProtocol.sizeOfAnswer(answer));
    }),
  );
});

crossing('the body of an answer is a view of the frame, not a copy', () => {
  const answer = { body: 'abc', etag: '', cycles: 1, throttledRetryAfterS: 0, isReplayed: false };
  const value = engineProtocol.answerToWire(answer);
  const writer = new BinaryWriter();
  engineProtocol.reply.encode({ id: 1, outcome: { $case: 'answer', value } }, writer);
  const frame = Buffer.from(writer.finish());
  const reply = engineProtocol.reply.decode(new BinaryReader(frame), frame.length);
  const { body } = answerOf(engineProtocol, reply);
  assert.instance(body, Buffer);
  assert.is((body as Buffer).buffer, frame.buffer);
});

crossing('every limiter call and answer is decoded as it was sent', async () => {
  await fc.assert(
    fc.property(arbitrary.limiterCall, arbitrary.limiterAnswer, (call, answer) => {
      const sent = sentCall(limiterProtocol, call);
      assert.equal(limiterProtocol.callOf(sent.result, 0), call);
      assert.ok(sent.size <= limiterProtocol.sizeOfCall(call));
      const replied = sentAnswer(limiterProtocol, answer);
      assert.equal(answerOf(limiterProtocol, replied.result), answer);
      assert.ok(replied.size <= limiterProtocol.sizeOfAnswer(answer));
    }),
  );
});

crossing('every fault is decoded with all its fields, on both streams', async () => {
  await fc.assert(
    fc.property(arbitrary.fault, (sent) => {
      assert.equal(fieldsOf(faultFromWire(faultToWire(sent))), fieldsOf(sent));
      const engine = sentFault(engineProtocol, sent);
      assert.equal(
        thrownBy(() => answerOf(engineProtocol, engine)),
        fieldsOf(sent),
      );
      const limiter = sentFault(limiterProtocol, sent);
      assert.equal(
        thrownBy(() => answerOf(limiterProtocol, limiter)),
        fieldsOf(sent),
      );
    }),
  );
});

crossing.run();
