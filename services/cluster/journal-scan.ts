import { type Clock, every } from '#platform/clock';
import type { JournalStore } from '#storage/journal-store';
import type { ShardStore } from '#storage/shard-store';

/** How often old journals are looked for, and how long a sealed one is kept (architecture 3.1). */
const SCAN_PERIOD_MS = 24 * 60 * 60 * 1_000;

/** When it is first done, in milliseconds: a process that never lives for a day does it too. */
const FIRST_SCAN_MS = 60 * 1_000;

/** How long a journal whose owner has no shards must not grow before it is sealed (architecture 3.1). */
const IDLE_MS = 60 * 60 * 1_000;

/** Shards of any service at most: more than any cluster has. */
const SHARDS_MAX = 4_096;

/** What a scan looks at. */
type JournalScanPorts = {
  readonly clock: Clock;
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly onBug: (error: unknown) => void;
};

/**
 * Empties the journals of ended incarnations: a day after their seal, if they own nothing; and
 * seals those that own nothing and do not grow. Every node does it, a minute after its start and once a
 * day; twice does no harm, because only a sealed journal can be emptied (architecture 3.1).
 */
export class JournalScan implements Disposable {
  readonly #ports: JournalScanPorts;
  readonly #incarnation: string;
  readonly #first: Disposable;
  readonly #scanning: Disposable;
  #sealing: Disposable | undefined;

  constructor(incarnation: string, ports: JournalScanPorts) {
    this.#incarnation = incarnation;
    this.#ports = ports;
    const scan = () => void this.scan().catch(ports.onBug);
    this.#first = ports.clock.after(FIRST_SCAN_MS, scan);
    this.#scanning = every(ports.clock, SCAN_PERIOD_MS, scan);
  }

  /** One scan: empties what is due at once, and seals after an hour what has not moved by then. */
  async scan(): Promise<void> {
    const { clock, journals } = this.#ports;
    const owners = await this.#owners();
    const idle = new Map<string, number>();
    for (const { incarnation, sealedAtMs } of await journals.list()) {
      if (owners.has(incarnation) || incarnation === this.#incarnation) continue;
      if (sealedAtMs === undefined) {
        const head = await journals.readHead(incarnation, 'quorum');
        if (head !== undefined) idle.set(incarnation, head.next);
      } else if (clock.wallMs() - sealedAtMs >= SCAN_PERIOD_MS) {
        await journals.empty(incarnation);
      }
    }
    this.#sealing = clock.after(IDLE_MS, () => {
      this.#sealIdle(idle).catch(this.#ports.onBug);
    });
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]();
    this.#scanning[Symbol.dispose]();
    this.#sealing?.[Symbol.dispose]();
  }

  async #sealIdle(idle: ReadonlyMap<string, number>): Promise<void> {
    const { journals } = this.#ports;
    const owners = await this.#owners();
    for (const [incarnation, next] of idle) {
      const head = await journals.readHead(incarnation, 'serial');
      if (!owners.has(incarnation) && head?.next === next) await journals.seal(incarnation);
    }
  }

  /** Every incarnation that a shard of any service names. */
  async #owners(): Promise<ReadonlySet<string>> {
    const { shards } = this.#ports;
    const rows = await Promise.all(
      (['engine', 'limiter'] as const).map((service) => shards.load(service, SHARDS_MAX)),
    );
    return new Set(rows.flat().map(({ owner }) => owner));
  }
}
