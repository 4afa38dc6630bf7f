import { EventEmitter } from 'node:events';
import * as assert from 'uvu/assert';
import type { AccountNews } from '#accounts/account';
import type { StreamCursor, StreamEnd } from '#edge/events/event-stream';
import { EventStreams } from '#edge/events/open-streams';
import { type EngineAnswer, type EventCursor, plainAnswer } from '#grpc/engine-messages';
import { eventsIn } from '#test/support/calls/event-reader';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

/** The default caller. */
export const CALLER = { accountId: 'AdaAdaAdaAda', credential: 'a key' };

/**
 * A response that records the text sent to the client. A test sets `writableNeedDrain` to simulate
 * a client that does not read.
 */
class FakeResponse extends EventEmitter {
  written = '';
  writableNeedDrain = false;
  isEnded = false;
  isDestroyed = false;

  write(text: string | Uint8Array): boolean {
    this.written += text.toString();
    return !this.writableNeedDrain;
  }

  end(text = ''): this {
    this.written += text;
    this.isEnded = true;
    this.emit('close');
    return this;
  }

  destroy(): this {
    this.isDestroyed = true;
    this.emit('close');
    return this;
  }

  /** Reads all text written so far. */
  take(): void {
    this.writableNeedDrain = false;
    this.emit('drain');
  }

  get events() {
    return eventsIn(this.written);
  }
}

/** An engine's answer that advances a stream to an ordinal. */
export function answerAt(ordinal: number, body = ''): EngineAnswer {
  return {
    ...plainAnswer(body),
    cursor: { ordinal, drift: 0, generation: 1, version: ordinal + 1 },
  };
}

/** A cycle event as text. */
export const cycle = (id: number): string => `id: ${id}\nevent: cycle\ndata: {}\n\n`;

/** An edge's streams, with an engine that answers as the test decides. */
export function streamsUnderTest(
  isHeard = true,
  renewal?: { readonly streamMsMax: number; readonly retryMs: number },
) {
  const clock = new ManualClock();
  const ended: StreamEnd[] = [];
  const listeners = new Set<Parameters<AccountNews['onChange']>[0]>();
  const accountNews = {
    isHeard: true,
    announce: (accountId: string, memberId?: string) => {
      for (const listener of listeners) listener(accountId, memberId);
    },
    onChange(listener: Parameters<AccountNews['onChange']>[0]) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  const streams = new EventStreams({
    clock,
    random: Math.random,
    accountNews: isHeard ? accountNews : undefined,
    onEnd: (why) => ended.push(why),
    renewal,
  });

  /** Opens a stream. */
  function open(caller = CALLER, keyEndsAtMs?: number) {
    using place = streams.reserve(caller);
    const response = new FakeResponse();
    const asked: (PromiseWithResolvers<EngineAnswer> & { after: EventCursor })[] = [];
    const ask = (after: StreamCursor) => {
      assert.not.type(after, 'string');
      const answer = { ...Promise.withResolvers<EngineAnswer>(), after: after as EventCursor };
      asked.push(answer);
      return answer.promise;
    };
    place.begin(
      { response: response as never, ask, keyEndsAtMs },
      answerAt(7, 'event: state\ndata: {}\n\n'),
    );
    /** Answers the newest request. */
    const answer = async (given: EngineAnswer) => {
      asked.at(-1)?.resolve(given);
      await turnOfEvents();
    };
    const refuse = async (error: unknown) => {
      asked.at(-1)?.reject(error);
      await turnOfEvents();
    };
    return { response, asked, answer, refuse };
  }

  return { clock, streams, accountNews, listeners, ended, open };
}
