import type { EndpointSender } from '#courier/endpoint-sender';
import type { CourierClient, CourierOutcome, OutgoingMessage } from '#grpc/courier-messages';
import type { Clock } from '#stdlib/clock';
import type { SecretSeal } from '#stdlib/secret-seal';
import { secretBytes, signedHeaders } from '#webhooks/signature';

type CourierParts = {
  readonly seal: SecretSeal;
  readonly sender: Pick<EndpointSender, 'send'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Release of the service, for the header `User-Agent`. */
  readonly release: string;
};

/**
 * Signs messages and sends them to webhook endpoints. Keeps nothing: the engine repeats a message
 * whose outcome it does not know.
 */
export class Courier implements CourierClient {
  readonly #parts: CourierParts;

  constructor(parts: CourierParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async ask(message: OutgoingMessage): Promise<CourierOutcome> {
    const { seal, sender, clock, release } = this.#parts;
    const { endpointId, url, body, sealedSecrets } = message;
    const opened = sealedSecrets.map((sealed) => seal.open(endpointId, sealed));
    const secrets = opened.flatMap((one) => (one === undefined ? [] : [secretBytes(one.text)]));
    // The cluster secret that sealed them was removed.
    if (secrets.length === 0) return { kind: 'failed', failure: 'secret_unreadable' };
    const headers = {
      'content-type': 'application/json',
      'content-length': `${Buffer.byteLength(body)}`,
      'user-agent': `identity-engine/${release}`,
      ...signedHeaders(message, secrets, clock.wallMs()),
    };
    const outcome = await sender.send({ url, headers, body });
    if (opened.every((one) => one?.isCurrent ?? true)) return outcome;
    const resealed = opened.map((one, at) =>
      one === undefined ? (sealedSecrets[at] ?? '') : seal.seal(endpointId, one.text),
    );
    return { ...outcome, resealed };
  }
}
