import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Headers } from '#edge/http';
import { UnreadAnswers } from '#edge/listen/slow-peers';
import { CallIds, type EdgeAnswer } from '#edge/serve/engine-calls';
import { type AnswerMetrics, type Counted, Reply } from '#edge/serve/reply';
import type { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import type { Logger } from '#telemetry/logger';
import type { SeededRandom } from '#test/simulation/seeded-random';

/**
 * Range of the random part of a call id. As at a real edge, ids of calls without an idempotency key
 * stay below 2^51.
 */
const CALL_ID_PARTS = 2 ** 46;

/** Call ids that count from a seeded random start. */
export class SimulatedCallIds extends CallIds {
  #last: number;

  constructor(random: SeededRandom) {
    super(unchanging(['a simulated secret']));
    this.#last = random.whole(0, CALL_ID_PARTS - 1) * 2 ** 5;
  }

  override next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** Callbacks that take the place of a socket: they pass the answer to the waiting caller. */
type Waiting = {
  readonly resolve: (answer: EdgeAnswer) => void;
  readonly reject: (fault: Fault) => void;
};

/** A reply object to pass to the edge's code, and a promise of the edge's answer. */
export function awaited(): { reply: FastifyReply; answer: Promise<EdgeAnswer> } {
  const { promise, resolve, reject } = Promise.withResolvers<EdgeAnswer>();
  const waiting: Waiting = { resolve, reject };
  return { reply: waiting as unknown as FastifyReply, answer: promise };
}

/** Passes answers and faults to the waiting caller instead of a socket. */
export class AwaitedReply extends Reply {
  constructor(clock: Clock, metrics: AnswerMetrics) {
    // No logger: the overridden methods write no log lines.
    super(
      clock,
      metrics,
      undefined as unknown as Logger,
      new UnreadAnswers(clock, () => undefined),
    );
  }

  override refuse(
    _request: FastifyRequest,
    reply: FastifyReply,
    _counted: Counted,
    fault: Fault,
  ): void {
    waitingFor(reply).reject(fault);
  }

  override send(
    _request: FastifyRequest,
    reply: FastifyReply,
    _counted: Counted,
    _status: number,
    headers: Headers,
    body: string | Uint8Array | undefined,
  ): void {
    const { etag = '', location } = headers;
    const answer = {
      body: body ?? '',
      etag: String(etag),
      cycles: 0,
      throttledRetryAfterS: headers['x-throttled'] === 'true' ? Number(headers['retry-after']) : 0,
      isReplayed: headers['idempotent-replayed'] === 'true',
    };
    waitingFor(reply).resolve(
      location === undefined ? answer : { ...answer, location: String(location) },
    );
  }
}

function waitingFor(reply: FastifyReply): Waiting {
  return reply as unknown as Waiting;
}
