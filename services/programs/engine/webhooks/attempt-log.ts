/* Finished attempts of webhook endpoints, in memory and for people. */
import type { ShownAnswer } from '#grpc/courier-messages';

/** Attempts per endpoint in an answer. */
const ATTEMPTS_SHOWN = 100;

/** Number of the newest attempts of an endpoint whose bodies are kept. A screen shows as many. */
const BODIES_OF_ENDPOINT_MAX = 20;

/** Maximum length of a request body that is kept, in UTF-16 units: a few changes. */
export const REQUEST_SHOWN_MAX = 4 * 1_024;

/**
 * Maximum memory of all kept bodies in this process, in bytes: about 3,000 attempts with both
 * bodies. Beyond, the oldest bodies of all endpoints are dropped.
 */
const BODIES_BYTES_MAX = 32 * 1_024 * 1_024;

/** Memory of the objects around the texts of an attempt, in bytes. */
const OBJECTS_BYTES = 256;

/** Bodies of an attempt. */
export type AttemptBodies = {
  readonly request: { readonly text: string; readonly isCut: boolean };
  /** Undefined: no answer, or an answer that must not be shown. */
  readonly answer: ShownAnswer | undefined;
};

/** A finished attempt. */
export type Attempt = {
  readonly messageId: string;
  readonly atMs: number;
  readonly durationMs: number;
  readonly events: number;
  /** Positions of the changes in the log. Empty for a test message. */
  readonly positions: readonly number[];
  /** `status 500`, or the cause of a failure without an answer. Undefined: delivered. */
  readonly failure: string | undefined;
  /** HTTP status. Undefined: no answer. */
  readonly status: number | undefined;
  /** Undefined: dropped to bound the memory. */
  bodies: AttemptBodies | undefined;
};

/** The bodies of an attempt, as copies that keep no longer text in memory. */
export function attemptBodies(request: string, answer: ShownAnswer | undefined): AttemptBodies {
  const { contentType = '', text = '', isCut = false } = answer ?? {};
  return {
    request: {
      text: copied(request.slice(0, REQUEST_SHOWN_MAX)),
      isCut: request.length > REQUEST_SHOWN_MAX,
    },
    answer: answer && { contentType: copied(contentType), text: copied(text), isCut },
  };
}

/** A part of a text is a view in V8, and would keep the whole text in memory. */
function copied(text: string): string {
  return Buffer.from(text).toString();
}

/** Bounds the memory of the bodies of all endpoints of a process. */
export class BodyMemory {
  readonly #bytesMax: number;
  /** Attempts with bodies, oldest first. */
  readonly #attempts = new Set<Attempt>();
  #bytes = 0;

  constructor(bytesMax = BODIES_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Memory of all kept bodies, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps the bodies of an attempt, until `drop` or until newer bodies need the memory. */
  keep(attempt: Attempt): void {
    if (attempt.bodies === undefined) return;
    this.#attempts.add(attempt);
    this.#bytes += bytesOf(attempt.bodies);
    for (const oldest of this.#attempts) {
      if (this.#bytes <= this.#bytesMax) return;
      this.drop(oldest);
    }
  }

  /** Drops the bodies of an attempt. */
  drop(attempt: Attempt): void {
    if (attempt.bodies === undefined || !this.#attempts.delete(attempt)) return;
    this.#bytes -= bytesOf(attempt.bodies);
    attempt.bodies = undefined;
  }
}

/** Upper bound for the memory of bodies, in bytes: two for each UTF-16 unit. */
function bytesOf({ request, answer }: AttemptBodies): number {
  const { text = '', contentType = '' } = answer ?? {};
  return OBJECTS_BYTES + 2 * (request.text.length + text.length + contentType.length);
}

/** The last attempts of one endpoint. Further ones replace the oldest. */
export class AttemptLog implements Disposable {
  readonly #memory: BodyMemory;
  #isDisposed = false;
  readonly #attempts: Attempt[] = [];

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  add(attempt: Attempt): void {
    this.#attempts.push(attempt);
    // An attempt can end after its endpoint was deleted.
    if (this.#isDisposed) return;
    this.#memory.keep(attempt);
    const older = this.#attempts.at(-1 - BODIES_OF_ENDPOINT_MAX);
    if (older !== undefined) this.#memory.drop(older);
    if (this.#attempts.length > ATTEMPTS_SHOWN) this.#attempts.shift();
  }

  /** The attempts, newest first. */
  newestFirst(): readonly Attempt[] {
    return this.#attempts.toReversed();
  }

  /** Drops all bodies. */
  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const attempt of this.#attempts) this.#memory.drop(attempt);
  }
}
