import { FakeBackend } from '#test/console/pages/fakes/fake-backend';

/** Backend of an instance with different strengths and no observation yet. */
export function supportDesk(account: ConstructorParameters<typeof FakeBackend>[0]): FakeBackend {
  const strengths = [0.85, 0.25, 0.75, 0.35, 0.25, 0.45, 0.2];
  return new FakeBackend(
    account,
    'Ada, support desk',
    strengths,
    'Answers people who write to us.',
  );
}

/**
 * Sends observation number `count` of a simulated day, which reaches all levels of drift and
 * stress.
 */
export function observeExtremes(backend: FakeBackend, count: number): void {
  const part = count % 40;
  const observed =
    part < 14
      ? { mode: count % 3 === 0 ? 0 : 2, signal: 0.75, confidence: 0.9 }
      : part < 22
        ? { mode: 3, signal: 0.9, confidence: 0.8 }
        : part < 28
          ? { mode: 6, signal: 0.95, confidence: 1 }
          : { mode: 4, signal: 0.6, confidence: 0.9 };
  backend.observe(observed, count % 3 === 0 ? { turn: count, topic: 'refund' } : {});
}
