import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { CtlError } from '#ctl/command';
import type { StoredAuditLine } from '#storage/audit-store';

const LINE = /^(\{.*),"hash":"([\w-]{43})"\}$/;
const PLACE = /^\{"account_id":"\w+","month":"(\d{4}-\d{2})","seq":(\d+),/;

/** What `ctl audit export` wrote, read line after line. Throws a `CtlError` for anything else. */
export class AuditFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<{ month: string; line: StoredAuditLine }> {
    let number = 0;
    try {
      // A pipe would be waited for without end, and its thread would keep the process from ending.
      if (!(await stat(this.#path)).isFile()) throw new Error('it is not a regular file');
      const input = createReadStream(this.#path);
      using _input = { [Symbol.dispose]: () => void input.destroy() };
      for await (const text of createInterface({ input })) {
        number += 1;
        yield this.#read(text, number);
      }
    } catch (error) {
      if (error instanceof CtlError) throw error;
      throw new CtlError(
        `${this.#path}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
  }

  #read(text: string, number: number): { month: string; line: StoredAuditLine } {
    const [, body, hash] = LINE.exec(text) ?? [];
    const [, month, seq] = PLACE.exec(text) ?? [];
    if (body === undefined || hash === undefined || month === undefined) {
      throw new CtlError(`${this.#path}: line ${number} is none of an exported audit trail`);
    }
    return { month, line: { seq: Number(seq), text: `${body}}`, hash } };
  }
}
