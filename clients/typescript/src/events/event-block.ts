import { IdentityEngineError } from '../errors.ts';

/** One block of a server-sent event stream; a block of comments has no fields. */
export type EventBlock = {
  /** Event name; undefined for a block without an event. */
  readonly event: string | undefined;
  /** Event id of the block; becomes the stream's last event id. */
  readonly id: string | undefined;
  /** Reconnection delay, in milliseconds. */
  readonly retryMs: number | undefined;
  /** Joined data lines; undefined without data. */
  readonly data: string | undefined;
};

/** Maximum size of an incomplete block, in UTF-16 units. A state has about 4,000. */
const BLOCK_CHARACTERS_MAX = 4_194_304;

/** Splits incoming text into event blocks (WHATWG HTML 9.2). */
export class EventBlocks {
  #rest = '';
  #lines: string[] = [];
  #held = 0;

  /**
   * Adds text and returns the completed blocks. Throws an `IdentityEngineError` if a block is too
   * long.
   */
  take(text: string): EventBlock[] {
    const blocks: EventBlock[] = [];
    const all = this.#rest + text;
    // A final \r may be the first half of a line end \r\n.
    const lines = all.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        this.#lines.push(line);
        this.#held += line.length;
      } else if (this.#lines.length > 0) {
        blocks.push(blockOf(this.#lines));
        this.#lines = [];
        this.#held = 0;
      }
    }
    if (this.#held + this.#rest.length > BLOCK_CHARACTERS_MAX) {
      throw new IdentityEngineError(`an event has more than ${BLOCK_CHARACTERS_MAX} characters`);
    }
    return blocks;
  }
}

function blockOf(lines: readonly string[]): EventBlock {
  const fields = new Map<string, string>();
  const data: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data.push(value);
    else if (name !== 'id' || !value.includes('\0')) fields.set(name, value);
  }
  const retry = fields.get('retry') ?? '';
  return {
    event: fields.get('event'),
    id: fields.get('id'),
    retryMs: /^\d+$/.test(retry) ? Number(retry) : undefined,
    data: data.length === 0 ? undefined : data.join('\n'),
  };
}
