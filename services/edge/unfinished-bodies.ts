import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { BodyReading } from '#edge/body-reading';
import { networkOf } from '#edge/network-of';
import { Fault } from '#fault/fault';

/** Unfinished bodies of one IPv4 address or IPv6 /64: so many slow uploads at once are honest. */
const BODIES_PER_NETWORK_MAX = 256;

/** Unfinished bodies of all networks together. */
const BODIES_MAX = 8_192;

/** Bytes that they may hold, all together. */
const BODY_BYTES_HELD_MAX = 64 * 1_024 * 1_024;

/** What is told of a body that is given up. */
export type GivenUp = { readonly address: string; readonly bodies: number; readonly bytes: number };

/** A network and what it has begun to send. */
type Sender = { readonly name: string; readonly bodies: Set<BodyReading>; bytes: number };

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Reads the bodies of requests. One that is not whole by the end of the turn in which its head came is
 * unfinished, and of those there is room for so many, and so many bytes. Beyond, the oldest is given
 * up with a 503: of the network that has too many, else of the one that holds the most. So whoever
 * sends bodies that never end displaces bodies of that kind, and not those that take a moment
 * (decision 160).
 */
export class UnfinishedBodies {
  readonly #onGivenUp: (what: GivenUp) => void;
  readonly #senders = new Map<string, Sender>();
  #fresh: { readonly body: BodyReading; readonly request: FastifyRequest }[] = [];
  #count = 0;
  #bytes = 0;

  constructor(onGivenUp: (what: GivenUp) => void) {
    this.#onGivenUp = onGivenUp;
  }

  /** Bodies that are not whole. */
  get count(): number {
    return this.#count;
  }

  /** Bytes that they hold. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reads a body whole, as a parser of Fastify's does. */
  read(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
    const body = new BodyReading(payload, request.routeOptions.bodyLimit, done);
    if (body.isDone) return;
    if (this.#fresh.length === 0) setImmediate(() => this.#look());
    this.#fresh.push({ body, request });
  }

  #look(): void {
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const { body, request } of fresh) if (!body.isDone) this.#hold(body, request);
  }

  #hold(body: BodyReading, { ip }: FastifyRequest): void {
    const { name } = networkOf(ip);
    const sender = this.#senders.get(name) ?? { name, bodies: new Set(), bytes: 0 };
    this.#senders.set(name, sender);
    sender.bodies.add(body);
    this.#count += 1;
    this.#grow(sender, body.bytes);
    body.watch({
      grown: (bytes) => {
        this.#grow(sender, bytes);
        while (this.#bytes > BODY_BYTES_HELD_MAX)
          this.#giveUp(this.#heaviest((each) => each.bytes));
      },
      done: () => this.#release(sender, body),
    });
    if (sender.bodies.size > BODIES_PER_NETWORK_MAX) this.#giveUp(sender);
    if (this.#count > BODIES_MAX) this.#giveUp(this.#heaviest(({ bodies }) => bodies.size));
    while (this.#bytes > BODY_BYTES_HELD_MAX) this.#giveUp(this.#heaviest((each) => each.bytes));
  }

  #grow(sender: Sender, bytes: number): void {
    sender.bytes += bytes;
    this.#bytes += bytes;
  }

  #release(sender: Sender, body: BodyReading): void {
    if (!sender.bodies.delete(body)) throw new Error('an unfinished body ends once');
    this.#count -= 1;
    this.#grow(sender, -body.bytes);
    if (sender.bodies.size === 0) this.#senders.delete(sender.name);
  }

  #heaviest(weightOf: (sender: Sender) => number): Sender {
    let heaviest: Sender | undefined;
    for (const sender of this.#senders.values()) {
      if (heaviest === undefined || weightOf(sender) > weightOf(heaviest)) heaviest = sender;
    }
    if (heaviest === undefined) throw new Error('something is held, so somebody has sent it');
    return heaviest;
  }

  #giveUp({ name, bodies, bytes }: Sender): void {
    const [oldest] = bodies;
    if (oldest === undefined) throw new Error('a sender without bodies is forgotten');
    this.#onGivenUp({ address: name, bodies: bodies.size, bytes });
    oldest.giveUp(
      new Fault('service_unavailable', 'too many requests are unfinished; send yours again', {
        reason: 'too_many_unfinished_bodies',
        retryAfterS: 1,
      }),
    );
  }
}
