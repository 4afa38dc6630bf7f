import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { courierProtocol } from '#grpc/courier-codec';
import { ANSWER_BYTES_SHOWN, type CourierOutcome } from '#grpc/courier-messages';
import {
  CourierReply,
  type CourierAnswer as WireAnswer,
} from '#grpc/gen/identity_engine/v1/courier';

const ANSWERED = { kind: 'answered', status: 500, retryAfter: undefined } as const;
const SHOWN = { contentType: 'text/plain', text: 'no database', isCut: false };

/** An answer after its way through the bytes of the wire. */
function received(answer: Partial<WireAnswer>): WireAnswer {
  const value = { status: 0, failure: '', resealed: [], ...answer } as WireAnswer;
  const bytes = CourierReply.encode({ id: 1, outcome: { $case: 'answer', value } }).finish();
  const { outcome } = CourierReply.decode(bytes);
  assert.is(outcome?.$case, 'answer');
  return outcome?.value as WireAnswer;
}

const { answerFromWire, answerToWire, sizeOfAnswer } = courierProtocol;

const codec = suite('the answer of a courier');

codec('arrives with the beginning of the answer of the endpoint', () => {
  const outcome: CourierOutcome = { ...ANSWERED, shown: SHOWN };
  assert.equal(answerFromWire(received(answerToWire(outcome))), outcome);
  assert.ok(sizeOfAnswer(outcome) > sizeOfAnswer(ANSWERED), 'the text counts for the frame');
});

codec('of another release without this field is understood', () => {
  assert.equal(answerFromWire(received({ status: 500 })), ANSWERED);
});

codec('of another release that shows more is cut', () => {
  const text = 'x'.repeat(5_000);
  const shown = { contentType: 'y'.repeat(5_000), text, cut: false };
  const outcome = answerFromWire(received({ status: 500, shown }));
  assert.equal(outcome, {
    ...ANSWERED,
    shown: {
      contentType: 'y'.repeat(128),
      text: text.slice(0, ANSWER_BYTES_SHOWN),
      isCut: true,
    },
  });
});

codec.run();
