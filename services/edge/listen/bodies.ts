import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { type Network, networkOf } from '#edge/callers/refused-addresses';
import { type Fault, faultFor, invalid } from '#fault/fault';

/** Unfinished bodies of one IPv4 address or IPv6 /64: this number of slow uploads at once is honest. */
const BODIES_PER_NETWORK_MAX = 256;

/** Unfinished bodies of all networks together. */
const BODIES_MAX = 8_192;

/** Bytes that they may hold, all together. */
const BODY_BYTES_HELD_MAX = 64 * 1_024 * 1_024;

/** What is reported when a body is given up: of the network, or of the /48, that has too many. */
export type GivenUp = { readonly address: string; readonly bodies: number; readonly bytes: number };

/** A network and what it has begun to send. */
type Sender = {
  readonly name: string;
  readonly site: Site;
  readonly bodies: Set<BodyReading>;
  bytes: number;
};

/** The /48 around networks of IPv6, or an IPv4 address, and what has begun to come from there. */
type Site = {
  readonly name: string;
  readonly senders: Map<string, Sender>;
  bodies: number;
  bytes: number;
};

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Reads the bodies of requests. One that is not whole by the end of the turn in which its head came
 * is unfinished, and of those number and bytes are bounded. Beyond, the oldest is given up with a
 * 503: of the network that has too many, else of the one that holds the most within the /48 that
 * does, because an attacker with a /48 has 65,536 networks. So bodies that never end displace
 * bodies of that kind, and not those that take a moment (decision 160).
 */
export class UnfinishedBodies {
  readonly #onGivenUp: (what: GivenUp) => void;
  readonly #sites = new Map<string, Site>();
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
    const sender = this.#senderOf(networkOf(ip));
    sender.bodies.add(body);
    sender.site.bodies += 1;
    this.#count += 1;
    this.#grow(sender, body.bytes);
    body.watch({
      grown: (bytes) => {
        this.#grow(sender, bytes);
        this.#makeRoom();
      },
      done: () => this.#release(sender, body),
    });
    if (sender.bodies.size > BODIES_PER_NETWORK_MAX) {
      this.#giveUp(sender, {
        address: sender.name,
        bodies: sender.bodies.size,
        bytes: sender.bytes,
      });
    }
    this.#makeRoom();
  }

  #senderOf({ name, site: siteName = name }: Network): Sender {
    let site = this.#sites.get(siteName);
    if (site === undefined) {
      site = { name: siteName, senders: new Map(), bodies: 0, bytes: 0 };
      this.#sites.set(siteName, site);
    }
    let sender = site.senders.get(name);
    if (sender === undefined) {
      sender = { name, site, bodies: new Set(), bytes: 0 };
      site.senders.set(name, sender);
    }
    return sender;
  }

  /** Gives up bodies until those that are left, and what they hold, are not too many. */
  #makeRoom(): void {
    while (this.#count > BODIES_MAX) {
      const site = heaviestOf(this.#sites.values(), ({ bodies }) => bodies);
      this.#giveUpOf(
        site,
        heaviestOf(site.senders.values(), ({ bodies }) => bodies.size),
      );
    }
    while (this.#bytes > BODY_BYTES_HELD_MAX) {
      const site = heaviestOf(this.#sites.values(), bytesOf);
      this.#giveUpOf(site, heaviestOf(site.senders.values(), bytesOf));
    }
  }

  #grow(sender: Sender, bytes: number): void {
    sender.bytes += bytes;
    sender.site.bytes += bytes;
    this.#bytes += bytes;
  }

  #release(sender: Sender, body: BodyReading): void {
    if (!sender.bodies.delete(body)) throw new Error('an unfinished body ends once');
    const { site } = sender;
    site.bodies -= 1;
    this.#count -= 1;
    this.#grow(sender, -body.bytes);
    if (sender.bodies.size === 0) site.senders.delete(sender.name);
    if (site.bodies === 0) this.#sites.delete(site.name);
  }

  #giveUpOf({ name, bodies, bytes }: Site, sender: Sender): void {
    this.#giveUp(sender, { address: name, bodies, bytes });
  }

  #giveUp({ bodies }: Sender, what: GivenUp): void {
    const [oldest] = bodies;
    if (oldest === undefined) throw new Error('a sender without bodies is forgotten');
    this.#onGivenUp(what);
    const text = 'too many requests are unfinished; send yours again';
    oldest.giveUp(faultFor('too_many_unfinished_bodies', text, { retryAfterS: 1 }));
  }
}

function bytesOf({ bytes }: { readonly bytes: number }): number {
  return bytes;
}

/** Of several that weigh the same the one that has been there for longest. */
function heaviestOf<Each>(all: Iterable<Each>, weightOf: (each: Each) => number): Each {
  let heaviest: Each | undefined;
  for (const each of all) {
    if (heaviest === undefined || weightOf(each) > weightOf(heaviest)) heaviest = each;
  }
  if (heaviest === undefined) throw new Error('something is held, so something has sent it');
  return heaviest;
}

/** The least that is reserved for a body that comes in parts, in bytes. */
const RESERVED_BYTES_MIN = 1_024;

/** Observes how much a body holds until it is done. */
type BodyWatcher = {
  /** It holds this number of bytes more. */
  readonly grown: (bytes: number) => void;
  /** It is whole, refused or given up. */
  readonly done: () => void;
};

/**
 * A body that is being read. What it holds is one piece of memory and never twice its length: a
 * body that comes in a million parts of a byte would otherwise cost a hundred times what it counts.
 */
class BodyReading {
  readonly #payload: IncomingMessage;
  readonly #lengthMax: number;
  readonly #announced: number | undefined;
  readonly #finish: (error: Error | null, body?: Buffer) => void;
  #held: Buffer = Buffer.alloc(0);
  #length = 0;
  #isDone = false;
  #watcher: BodyWatcher | undefined;

  /** Reads `payload`; `finish` is called once, with the body or with why there is none. */
  constructor(
    payload: IncomingMessage,
    lengthMax: number,
    finish: (error: Error | null, body?: Buffer) => void,
  ) {
    this.#payload = payload;
    this.#lengthMax = lengthMax;
    this.#finish = finish;
    const announced = payload.headers['content-length'];
    this.#announced = announced === undefined ? undefined : Number(announced);
    if ((this.#announced ?? 0) > lengthMax) {
      this.#end(tooLarge());
      return;
    }
    payload.on('data', this.#take);
    payload.on('end', this.#close);
    payload.on('error', this.#end);
  }

  /** Whether there is nothing more to wait for. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Bytes that it holds. */
  get bytes(): number {
    return this.#held.length;
  }

  /** Has a watcher from now on. */
  watch(watcher: BodyWatcher): void {
    this.#watcher = watcher;
  }

  /** Reads no further. What still comes is thrown away. */
  giveUp(fault: Fault): void {
    this.#end(fault);
    this.#payload.resume();
  }

  readonly #take = (part: Buffer): void => {
    const length = this.#length + part.length;
    if (length > this.#lengthMax) {
      this.#end(tooLarge());
      return;
    }
    const before = this.#held.length;
    // Node's copy for us alone: nearly every body is one part, which is kept as it came.
    if (this.#length === 0) this.#held = part;
    else {
      if (length > before) this.#reserve(length);
      part.copy(this.#held, this.#length);
    }
    this.#length = length;
    if (this.#held.length > before) this.#watcher?.grown(this.#held.length - before);
  };

  #reserve(length: number): void {
    const doubled = Math.max(length, 2 * this.#held.length, RESERVED_BYTES_MIN);
    const larger = Buffer.allocUnsafeSlow(Math.min(doubled, this.#lengthMax));
    this.#held.copy(larger, 0, 0, this.#length);
    this.#held = larger;
  }

  readonly #close = (): void => {
    const isWhole = this.#announced === undefined || this.#announced === this.#length;
    this.#end(isWhole ? undefined : notAsAnnounced());
  };

  readonly #end = (error: Error | undefined): void => {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#payload.off('data', this.#take);
    this.#payload.off('end', this.#close);
    this.#payload.off('error', this.#end);
    this.#watcher?.done();
    if (error === undefined) this.#finish(null, this.#held.subarray(0, this.#length));
    else this.#finish(error);
  };
}

function tooLarge(): Fault {
  return invalid('body_too_large', undefined, 'the body is too large');
}

function notAsAnnounced(): Fault {
  const text = 'the body is not as long as announced';
  return invalid('malformed_request', 'Content-Length', text);
}
