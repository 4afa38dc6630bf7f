import { at } from '#bench/load/process-answer';
import type { KnownAccount } from '#bench/scale/rates/known-accounts';

/** Maximum length of names and descriptions (interface 2.4), with characters of four bytes. */
const NAME_LENGTH = 100;
const DESCRIPTION = '😀'.repeat(2_000);

/** Digits at the end of a name, where a difference makes comparisons slowest. */
const NAME_DIGITS = 7;

/** Calls in flight, by kind. */
const CREATING = 16;
const CHURNING = 8;
const LISTING = 8;

/** Items per page: the API's maximum. */
const PAGE_ITEMS = 100;

/** Timeout of a call in ms, longer than the service's deadline. */
const CALL_MS_MAX = 15_000;

type Reply = { readonly status: number; readonly body: unknown };

/** A name of maximum length with number `index`. */
export function hostileName(index: number): string {
  const digits = String(index).padStart(NAME_DIGITS, '0');
  return '😀'.repeat(NAME_LENGTH - NAME_DIGITS) + digits;
}

/** An account at its instance limit whose callers send the most expensive calls. */
export class HostileAccount {
  readonly #address: string;
  readonly #account: KnownAccount;
  readonly #instancesMax: number;
  readonly #made: string[] = [];
  #named = 0;
  /** Number of answers by call and status, such as `create 403`. */
  readonly counts = new Map<string, number>();

  constructor(address: string, account: KnownAccount, instancesMax: number) {
    this.#address = address;
    this.#account = account;
    this.#instancesMax = instancesMax;
    this.#named = instancesMax;
  }

  /** Creates instances up to the limit. Rejects unless exactly `count` were created. */
  async fill(count: number): Promise<void> {
    while ((await this.#create()) !== 403);
    if (this.#made.length !== count)
      throw new Error(`created ${this.#made.length} instances, not ${count}`);
  }

  /** Creates beyond the limit, deletes and recreates, and lists deep pages, until `untilMs`. */
  async hammer(untilMs: number): Promise<void> {
    const repeat = (callers: number, act: () => Promise<unknown>) =>
      Array.from({ length: callers }, async () => {
        while (performance.now() < untilMs) await act();
      });
    await Promise.all([
      ...repeat(CREATING, () => this.#create()),
      ...repeat(CHURNING, () => this.#replace()),
      ...repeat(LISTING, () => this.list()),
    ]);
  }

  /**
   * Reads a page in the listing's second half. Returns the number of instances; undefined if
   * refused.
   */
  async list(): Promise<number | undefined> {
    const offset = Math.floor(this.#instancesMax * (0.5 + Math.random() / 2));
    const sort = Math.random() < 0.5 ? 'name' : 'created_at';
    const order = Math.random() < 0.5 ? 'asc' : 'desc';
    const query = `limit=${PAGE_ITEMS}&offset=${offset}&sort=${sort}&order=${order}`;
    const { status, body } = await this.#ask('list', 'GET', `?${query}`, [200]);
    if (status !== 200) return undefined;
    const total = Number(at(body, ['pagination', 'total']));
    if (!(total <= this.#instancesMax))
      throw new Error(`the service lists ${total} instances, more than the limit`);
    return total;
  }

  async #create(): Promise<number> {
    this.#named += 1;
    const requested = JSON.stringify({ name: hostileName(this.#named), description: DESCRIPTION });
    const { status, body } = await this.#ask('create', 'POST', '', [201, 403], requested);
    if (status === 201) this.#made.push(String(at(body, ['data', 'id'])));
    const reason = at(body, ['details', 'reason']);
    if (status === 403 && reason !== 'instance_limit')
      throw new Error(`403: ${JSON.stringify(body)}`);
    return status;
  }

  async #replace(): Promise<void> {
    const id = this.#made.shift();
    if (id !== undefined) {
      const { status } = await this.#ask('delete', 'DELETE', `/${id}`, [200, 204, 404]);
      if (status === 503) this.#made.push(id);
    }
    await this.#create();
  }

  /** Sends a call and counts its answer. Throws unless the status is 503 or in `expected`. */
  async #ask(
    what: string,
    method: string,
    path: string,
    expected: readonly number[],
    body?: string,
  ): Promise<Reply> {
    const authorization = `Bearer ${this.#account.key}`;
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
    const signal = AbortSignal.timeout(CALL_MS_MAX);
    const sent = body === undefined ? {} : { body };
    const url = `${this.#address}/v1/instances${path}`;
    const response = await fetch(url, { method, headers, signal, ...sent });
    const text = await response.text();
    const { status } = response;
    const counted = `${what} ${status}`;
    this.counts.set(counted, (this.counts.get(counted) ?? 0) + 1);
    if (status !== 503 && !expected.includes(status)) throw new Error(`${counted}: ${text}`);
    return { status, body: text === '' ? undefined : JSON.parse(text) };
  }
}
