import { IdentityEngineError } from '../errors.ts';

/** One block of a stream of server-sent events; a block of comments only has none of the fields. */
export type EventBlock = {
  /** Name of the event; undefined for a block that only says something of the stream. */
  readonly event: string | undefined;
  /** Set where the block has an id, which is then the last one. */
  readonly id: string | undefined;
  /** When to come back, in milliseconds. */
  readonly retryMs: number | undefined;
  /** The lines of data, joined; undefined where there is none. */
  readonly data: string | undefined;
};

/** How much of one block is kept while its end has not come, in UTF-16 units. A state has about 4,000. */
const BLOCK_CHARACTERS_MAX = 4_194_304;

/** Cuts text, as it comes, into blocks (WHATWG HTML 9.2). */
export class EventBlocks {
  #rest = '';
  #lines: string[] = [];
  #held = 0;

  /** The blocks that end in this text. Throws an `IdentityEngineError` for one that does not end. */
  take(text: string): EventBlock[] {
    const blocks: EventBlock[] = [];
    const all = this.#rest + text;
    // A \r at the end may be half of a \r\n.
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
