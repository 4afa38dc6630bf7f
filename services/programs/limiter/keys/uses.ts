import type { AdmitCall } from '#grpc/limiter-messages';
import {
  KEY_USE_MS_MAX,
  KEY_USES_AT_ONCE_MAX,
  KEY_USES_END_MS_MAX,
  KEY_USES_FLUSH_MS,
  KEY_USES_FLUSHED_MAX,
  KEY_USES_MAX,
} from '#limiter/quota-bounds';
import { type Clock, withinMs } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { addressText, readAddress } from '#stdlib/network';
import type { KeyUse, KeyUseStore } from '#storage/ports/accounts';

const MINUTE_MS = 60_000;

type Noted = { readonly accountId: string; readonly use: KeyUse };

/**
 * Records when and by which client keys are used. A background loop stores a bounded number per
 * second; no call waits for the loop. Uses are dropped if the queue is full or the store fails. A
 * crash loses unsaved uses.
 */
export class KeyUses implements AsyncDisposable {
  readonly #store: Pick<KeyUseStore, 'note'>;
  readonly #clock: Clock;
  /** Uses by key digest, oldest first. */
  readonly #noted = new Map<string, Noted>();
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(store: Pick<KeyUseStore, 'note'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes an admitted call with client data. A key's newest use replaces an older use. */
  note({ accountId, keyDigest: digest, address: from = '', client = '' }: AdmitCall): void {
    if (this.#isClosed) return;
    if (this.#noted.size >= KEY_USES_MAX && !this.#noted.has(digest)) return;
    const address = readAddress(from);
    const use: KeyUse = {
      digest,
      minute: Math.floor(this.#clock.wallMs() / MINUTE_MS),
      address: address && addressText(address),
      client: client === '' ? undefined : client,
    };
    this.#noted.set(digest, { accountId, use });
    this.#timer ??= this.#clock.after(KEY_USES_FLUSH_MS, () => this.#flush());
  }

  /** Accepts no more uses, and stores the remaining uses within `KEY_USES_END_MS_MAX`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    const all = this.#take(KEY_USES_MAX);
    if (all.length === 0) return;
    await withinMs(this.#clock, KEY_USES_END_MS_MAX, this.#storeAll(all)).catch(() => undefined);
  }

  #flush(): void {
    void this.#storeAll(this.#take(KEY_USES_FLUSHED_MAX)).finally(() => {
      this.#timer = undefined;
      if (this.#isClosed || this.#noted.size === 0) return;
      this.#timer = this.#clock.after(KEY_USES_FLUSH_MS, () => this.#flush());
    });
  }

  #take(count: number): readonly Noted[] {
    const taken: Noted[] = [];
    for (const [digest, noted] of this.#noted) {
      if (taken.length === count) break;
      this.#noted.delete(digest);
      taken.push(noted);
    }
    return taken;
  }

  /** Stores uses concurrently, and drops uses that cannot be stored in time. Never rejects. */
  async #storeAll(all: readonly Noted[]): Promise<void> {
    await forEachConcurrently(all, KEY_USES_AT_ONCE_MAX, async ({ accountId, use }) => {
      const stored = async () => await this.#store.note(accountId, use);
      await withinMs(this.#clock, KEY_USE_MS_MAX, stored()).catch(() => undefined);
    });
  }
}
