import type { IncomingMessage } from 'node:http';
import { type Fault, invalid } from '#fault/fault';

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
export class BodyReading {
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
