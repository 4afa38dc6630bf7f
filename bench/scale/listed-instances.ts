import type { Call, HttpCaller } from '#bench/load/http-caller';
import { at, isObject } from '#bench/load/process-answer';
import { withProgress } from '#bench/progress';
import { checkPagination } from '#bench/scale/pagination';

/** Parameters of a listing page. */
export type ListedPage = {
  readonly limit: number;
  readonly offset: number;
  readonly sort: 'created_at' | 'name';
  readonly order: 'asc' | 'desc';
};

/** Prime step between names: neighbors by name are created at different times. */
const NAME_STEP = 7_919;

type Listed = { readonly id: string; readonly name: string; readonly created_at: string };

/** Instances of an account, and the expected content of its listing. */
export class ListedInstances {
  readonly #byCreation: readonly Listed[];
  readonly #byName: readonly Listed[];
  /** Answer time of each creation in ms, in answer order. */
  readonly answeredMs: readonly number[];

  private constructor(instances: readonly Listed[], answeredMs: readonly number[]) {
    this.#byCreation = instances.toSorted(byCreation);
    this.#byName = instances.toSorted((a, b) => compare(a.name, b.name));
    this.answeredMs = answeredMs;
  }

  /** Creates `count` instances, 64 in flight. */
  static async create(
    caller: HttpCaller,
    count: number,
    print: (line: string) => void,
  ): Promise<ListedInstances> {
    if (count % NAME_STEP === 0)
      throw new Error(`the number of instances must not be a multiple of ${NAME_STEP}`);
    const answeredMs: number[] = [];
    const line = () => `${answeredMs.length.toLocaleString('en')} instances`;
    const callOf = (i: number): Call => {
      return { method: 'POST', path: '/v1/instances', body: `{"name":"${nameOf(i, count)}"}` };
    };
    const instances = await withProgress(line, print, () =>
      caller.sendAll(count, callOf, (answer) => {
        answeredMs.push(performance.now());
        return listedIn(at(answer, ['data']));
      }),
    );
    return new ListedInstances(instances, answeredMs);
  }

  /** Throws unless `answer` equals the expected page. */
  check(answer: unknown, { limit, offset, sort, order }: ListedPage): void {
    const all = sort === 'name' ? this.#byName : this.#byCreation;
    const total = all.length;
    const position = (index: number) => (order === 'asc' ? index : total - 1 - index);
    const rows = at(answer, ['data']);
    const expected = Math.min(limit, total - offset);
    const where = `${sort} ${order}, offset ${offset}`;
    if (!Array.isArray(rows) || rows.length !== expected) {
      throw new Error(`${where}: expected a page of ${expected} instances`);
    }
    for (const [index, row] of rows.entries()) {
      const right = all[position(offset + index)];
      const found = listedIn(row);
      const isSame = found.id === right?.id && found.name === right.name;
      if (!isSame || found.created_at !== right.created_at || at(row, ['cycle_count']) !== 0) {
        throw new Error(`${where}: expected ${right?.id} in line ${index}, got ${found.id}`);
      }
    }
    checkPagination(answer, { limit, offset, total });
  }
}

function nameOf(index: number, count: number): string {
  return `agent ${String((index * NAME_STEP) % count).padStart(7, '0')}`;
}

function listedIn(value: unknown): Listed {
  const { id, name, created_at } = isObject(value) ? value : {};
  if (typeof id === 'string' && typeof name === 'string' && typeof created_at === 'string') {
    return { id, name, created_at };
  }
  throw new Error('the answer contains no instance');
}

/** Sort order of the service: by millisecond of creation, then by id. */
function byCreation(a: Listed, b: Listed): number {
  return compare(a.created_at, b.created_at) || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
