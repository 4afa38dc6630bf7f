import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { segmentOf } from '../instance-path.ts';
import type { Persona, PersonaDetail, PersonasQuery, WholePagination } from '../models.ts';
import { type Page, pageOf } from '../pages.ts';
import { resultOf } from '../read-result.ts';
import type { Result } from '../result.ts';

/** The twelve reference personas (interface 2.8). */
export class Personas {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** All personas, always as one complete list. */
  async list(
    query: PersonasQuery = {},
    options: CallOptions = {},
  ): Promise<Page<Persona, WholePagination>> {
    const answer = await this.#caller.call({
      ...{ method: 'GET', path: '/personas', query, options },
      ...{ repeatable: 'always', isChange: false },
    });
    return pageOf(answer, () => undefined);
  }

  /** Returns a persona with all details. Throws `NotFoundError` for an unknown id. */
  async get(id: string, options: CallOptions = {}): Promise<Result<PersonaDetail>> {
    const path = `/personas/${segmentOf(id)}`;
    return resultOf(
      await this.#caller.call({
        ...{ method: 'GET', path, options, repeatable: 'always', isChange: false },
      }),
    );
  }
}
