import { AccountWebhooks } from '#edge/serve/webhooks';
import type { EngineClient } from '#grpc/engine-messages';
import type { Clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { SecretSeal } from '#stdlib/secret-seal';
import { ManualClock } from '#test/support/manual-clock';
import { SECRET_SEAL_LABEL } from '#webhooks/signature';

/** Operations on webhook endpoints at an engine, for tests. */
export function webhooksOf(engine: EngineClient, clock: Clock = new ManualClock()) {
  return new AccountWebhooks({
    ...{ engine, clock, randomness: systemRandomness, isInternalAllowed: false },
    callIds: { next: () => 1 },
    seal: new SecretSeal(unchanging(['the secret of all tests']), SECRET_SEAL_LABEL),
  });
}
