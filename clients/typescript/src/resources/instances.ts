import type {
  CallOptions,
  ConditionalOptions,
  GuardedOptions,
  KeyedOptions,
} from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { instancePath } from '../instance-path.ts';
import type {
  AsOf,
  CreatedInstance,
  CreateInstance,
  DeletedInstance,
  DominantMode,
  DriftLevel,
  FleetCounts,
  Instance,
  InstancesQuery,
  ListedInstance,
  Pagination,
  RenameInstance,
  StressState,
  UpdatedInstance,
} from '../models.ts';
import { nextByCursor, type Page, pageOf, rowsOf } from '../pages.ts';
import { conditionalResultOf, resultOf } from '../read-result.ts';
import type { NotModified, Result } from '../result.ts';
import { uuid7 } from '../uuid7.ts';

/** Query of `client.instances.list` and `iterate`. An instance must pass every filter. */
export type InstancesListQuery = Omit<
  InstancesQuery,
  'stress' | 'drift' | 'dominant_mode' | 'tag'
> & {
  /** Wanted stress states. Default: all. */
  readonly stress?: readonly StressState[];
  /** Wanted drift levels. Default: all. */
  readonly drift?: readonly DriftLevel[];
  /** Wanted first dominant modes; `None`: all modes are weak. Default: all. */
  readonly dominant_mode?: readonly DominantMode[];
  /** Up to four tags, which an instance must all have. */
  readonly tags?: Readonly<Record<string, string>>;
};

/** Page of instances. */
export type InstancesPage = Page<ListedInstance, Pagination> & {
  /**
   * Time and position of the log up to which the page has all events. Only with a filter or
   * `sort: 'changed_at'`.
   */
  readonly as_of: AsOf | undefined;
};

/** Parameters of a query, with its lists as text and each tag as a parameter. */
function parametersOf({ stress, drift, dominant_mode, tags, ...rest }: InstancesListQuery): object {
  const lists = {
    stress: stress?.join(','),
    drift: drift?.join(','),
    dominant_mode: dominant_mode?.join(','),
  };
  const wanted = Object.entries(tags ?? {}).map(([key, value]) => [`tag.${key}`, value]);
  return { ...rest, ...lists, ...Object.fromEntries(wanted) };
}

/** The account's instances (interface 4.1). */
export class Instances {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Creates an instance once; retries use the same idempotency key. Throws `ForbiddenError` with
   * reason `instance_limit` if the plan allows no more instances.
   */
  async create(
    fields: CreateInstance,
    options: KeyedOptions = {},
  ): Promise<Result<CreatedInstance>> {
    const headers = { 'idempotency-key': options.idempotencyKey ?? uuid7() };
    return resultOf(
      await this.#caller.call({
        ...{ method: 'POST', path: '/instances', body: fields, headers, options },
        ...{ repeatable: 'always', isChange: true },
      }),
    );
  }

  /** Reads an instance. Throws `NotFoundError` if the account has no instance with this id. */
  get(id: string, options?: CallOptions): Promise<Result<Instance>>;
  /** Reads an instance, or returns "not modified" if `ifNoneMatch` is the current version. */
  get(id: string, options: ConditionalOptions): Promise<Result<Instance> | NotModified>;
  async get(
    id: string,
    options: CallOptions & Partial<ConditionalOptions> = {},
  ): Promise<Result<Instance> | NotModified> {
    return conditionalResultOf(
      await this.#caller.call({
        ...{ method: 'GET', path: instancePath(id), options },
        ...{ headers: { 'if-none-match': options.ifNoneMatch } },
        ...{ repeatable: 'always', isChange: false },
      }),
    );
  }

  /**
   * Changes name, description or tags. The call is retried only if the failed attempt certainly
   * changed nothing; otherwise the outcome is unknown, and the error has `mayHaveHappened` set.
   * Throws `ConflictError` if `ifMatch` is not the current version.
   */
  async update(
    id: string,
    fields: RenameInstance,
    options: GuardedOptions = {},
  ): Promise<Result<UpdatedInstance>> {
    return resultOf(
      await this.#caller.call({
        ...{ method: 'PATCH', path: instancePath(id), body: fields, options },
        ...{ headers: { 'if-match': options.ifMatch } },
        ...{ repeatable: 'if_nothing_happened', isChange: true },
      }),
    );
  }

  /**
   * Deletes an instance with all its data. If an attempt has an unknown outcome and the retry
   * returns 404, the call succeeds (`status` is then 404). Throws `ConflictError` if `ifMatch` is
   * not the current version.
   */
  async delete(id: string, options: GuardedOptions = {}): Promise<Result<DeletedInstance>> {
    const answer = await this.#caller.call({
      ...{ method: 'DELETE', path: instancePath(id), options },
      ...{ headers: { 'if-match': options.ifMatch } },
      ...{ repeatable: 'until_deleted', isChange: true },
    });
    const result = resultOf<DeletedInstance | undefined>(answer);
    return { ...result, data: result.data ?? { id, deleted: true } };
  }

  /**
   * A page of the account's instances; by default newest first. Throws a `ServiceUnavailableError`
   * with the reason `index_rebuilding` if a filter or `sort: 'changed_at'` still waits for the
   * service at the deadline.
   */
  async list(query: InstancesListQuery = {}, options: CallOptions = {}): Promise<InstancesPage> {
    const answer = await this.#caller.call({
      ...{ method: 'GET', path: '/instances', query: parametersOf(query), options },
      ...{ repeatable: 'always', isChange: false },
    });
    const page = pageOf<ListedInstance, Pagination>(
      answer,
      nextByCursor(query, (next) => this.list(next, options)),
    );
    return { ...page, as_of: answer.body?.as_of as AsOf | undefined };
  }

  /** Counts of the account's instances by state, mode and tag, and its newest events. */
  async fleet(options: CallOptions = {}): Promise<Result<FleetCounts>> {
    return resultOf(
      await this.#caller.call({
        ...{ method: 'GET', path: '/fleet', options },
        ...{ repeatable: 'always', isChange: false },
      }),
    );
  }

  /** All instances, with one page in memory at a time. */
  iterate(
    query: InstancesListQuery = {},
    options: CallOptions = {},
  ): AsyncIterable<ListedInstance> {
    return rowsOf(() => this.list({ limit: PAGE_ROWS, ...query }, options));
  }
}

/** Iterator page size: the service's maximum. Source: interface 8.4. */
const PAGE_ROWS = 100;
