import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { problemWith, type Sent } from '#bench/load/proof';

const proof = suite('problem of a benchmark run');

const SENT: Sent = { answered: 1_000, refused: 0, unanswered: 64 };

// Catches a late observation that a reference refuses with 409 and that counts as a wrong answer:
// short runs failed because of a cold Pekko.
proof('is late if all refused calls were throttled', () => {
  const late = { text: '3 answers were throttled', isLate: true };
  assert.equal(problemWith({ ...SENT, refused: 3 }, { advanced: 997, throttled: 3 }), late);
  assert.equal(problemWith(SENT, { advanced: 997, throttled: 3 }), late);
  assert.is(problemWith(SENT, { advanced: 1_064, throttled: 0 }), undefined);
});

// Catches a wrong answer that hides behind a throttled call.
proof('is a wrong answer if a call was refused and not throttled', () => {
  const hidden = problemWith({ ...SENT, refused: 4 }, { advanced: 997, throttled: 3 });
  assert.equal(hidden, { text: '4 non-2xx, 3 throttled', isLate: false });
  const lost = problemWith(SENT, { advanced: 996, throttled: 3 });
  assert.equal(lost, {
    text: '1000 answers, but 999 cycles and throttled calls',
    isLate: false,
  });
});

proof.run();
