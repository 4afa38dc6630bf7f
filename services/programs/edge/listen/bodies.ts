import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { type GivenUp, type Network, networkOf } from '#edge/callers/known-callers';
import { type Fault, faultFor, invalid } from '#errors/fault';

/** Maximum unfinished bodies per IPv4 address or IPv6 /64. Honest clients stay below. */
const BODIES_PER_NETWORK_MAX = 256;

/** Maximum unfinished bodies, over all networks. */
const BODIES_MAX = 8_192;

/** Maximum bytes held by all unfinished bodies together. */
const BODY_BYTES_HELD_MAX = 64 * 1_024 * 1_024;

/** One network (IPv4 address or IPv6 /64) and its unfinished bodies. */
type Sender = {
  readonly name: string;
  readonly site: Site;
  readonly bodies: Set<BodyReading>;
  bytes: number;
};

/** An IPv6 /48 or an IPv4 address, with its networks' unfinished bodies. */
type Site = {
  readonly name: string;
  readonly senders: Map<string, Sender>;
  bodies: number;
  bytes: number;
};

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Reads request bodies, and bounds the unfinished bodies and their bytes.
 *
 * A body is unfinished if it is incomplete after the event-loop turn in which its head arrived. A
 * network over its own limit loses its oldest body, which is answered 503. Over a total limit, the
 * heaviest network in the heaviest /48 loses its oldest body: an attacker with a /48 has 65,536
 * networks. So endless bodies evict other endless bodies, and short uploads survive (decision 160).
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

  /** How many bodies are unfinished. */
  get count(): number {
    return this.#count;
  }

  /** Bytes held by the unfinished bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reads a whole body. Usable as a Fastify content-type parser. */
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

  /** Evicts bodies until both total limits hold. */
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
    if (!sender.bodies.delete(body)) throw new Error('the body was released twice');
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
    if (oldest === undefined) throw new Error('the sender has no unfinished body');
    this.#onGivenUp(what);
    const text = 'the server has too many unfinished requests; retry';
    oldest.giveUp(faultFor('too_many_unfinished_bodies', text, { retryAfterS: 1 }));
  }
}

function bytesOf({ bytes }: { readonly bytes: number }): number {
  return bytes;
}

/** The item with the greatest weight. On ties, picks the oldest. */
function heaviestOf<Each>(all: Iterable<Each>, weightOf: (each: Each) => number): Each {
  let heaviest: Each | undefined;
  for (const each of all) {
    if (heaviest === undefined || weightOf(each) > weightOf(heaviest)) heaviest = each;
  }
  if (heaviest === undefined) throw new Error('there is no item to choose from');
  return heaviest;
}

/** Minimum buffer size for a body that arrives in several parts, in bytes. */
const RESERVED_BYTES_MIN = 1_024;

/** Callbacks about a body's memory until the body is done. */
type BodyWatcher = {
  /** Called when the body holds `bytes` more. */
  readonly grown: (bytes: number) => void;
  /** Called once, when the body is complete, refused or given up. */
  readonly done: () => void;
};

/**
 * One body while it is read.
 *
 * Holds all parts in a buffer of at most twice the body's length. Separate one-byte parts would
 * cost a hundred times the bytes that the limits count.
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

  /** Starts to read `payload`. Calls `finish` once, with the body or with an error. */
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

  /** Whether the body is complete, refused or given up. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Bytes held in the buffer. */
  get bytes(): number {
    return this.#held.length;
  }

  /** Sets the watcher. Replaces an earlier watcher. */
  watch(watcher: BodyWatcher): void {
    this.#watcher = watcher;
  }

  /** Refuses the body with `fault` and discards the bytes that still arrive. */
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
    // Nearly every body has only one part. Keep Node's buffer, which no other code uses.
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
  const text = 'the body length differs from Content-Length';
  return invalid('malformed_request', 'Content-Length', text);
}
