import { type ClusterPorts, CtlError } from '#ctl/command';
import { counted } from '#ctl/counted';
import { driftLine, type ExportCounts, instanceLine, observationLine } from '#ctl/export-lines';
import type { Progress } from '#ctl/progress';
import { type RowPortion, rowPortions } from '#ctl/row-portions';
import { TRIM_MS_MAX } from '#ctl/trim-plan';
import { type Clock, sleep } from '#platform/clock';
import { trimmedOf } from '#storage/floor';
import type { InstanceHead } from '#storage/instance-store';
import { storedDrift, storedHistory } from '#storage/stored-rows';

/** Heads that are read at once: the heads of one read have up to 6 KiB of rows each. Chosen. */
const HEADS_AT_ONCE = 32;

/** In which time everything acknowledged before is stored, in milliseconds: 120 s and 20. */
const STORED_MS = 140_000;

/** Between two looks for what is not stored yet, in milliseconds. */
const PAUSE_MS = 2_000;

type Counts = Omit<ExportCounts, 'keys'>;

/**
 * The instances of an account as lines of an export. Each is consistent in itself, whatever happens
 * to it meanwhile: the version of its head says which rows belong to it, and they never change.
 */
export class ExportedInstances {
  readonly #ports: Pick<ClusterPorts, 'instances' | 'listings' | 'file'> & {
    readonly clock: Clock;
  };
  readonly #accountId: string;
  readonly #progress: Progress;
  #instances = 0;
  #observations = 0;
  #driftEvents = 0;

  constructor(ports: ClusterPorts, accountId: string, progress: Progress) {
    this.#ports = ports;
    this.#accountId = accountId;
    this.#progress = progress;
  }

  /** How much has been written. */
  get counts(): Counts {
    return {
      instances: this.#instances,
      observations: this.#observations,
      drift_events: this.#driftEvents,
    };
  }

  /** All lines, in portions; what is listed and not stored yet comes last. */
  async *lines(): AsyncGenerator<string> {
    for await (const text of this.#all()) {
      yield text;
      this.#progress.at(() => {
        const observations = counted(this.#observations, 'observation');
        return `${counted(this.#instances, 'instance')}, ${observations} written`;
      });
    }
  }

  async *#all(): AsyncGenerator<string> {
    const { listings, clock } = this.#ports;
    let missing: string[] = [];
    for await (const page of listings.pages(this.#accountId)) {
      const ids = page.map(({ instanceId }) => instanceId);
      missing.push(...(yield* this.#ofAll(ids)));
    }
    // All of them were listed before this moment, the last of them perhaps just now.
    const listedMs = clock.monotonicMs();
    while (missing.length > 0) {
      if (clock.monotonicMs() - listedMs > STORED_MS) {
        const hint = this.#ports.file === undefined ? '' : ': only a running service stores them';
        const listed = `${counted(missing.length, 'instance')} listed and not stored`;
        throw new CtlError(`${listed}, as ${missing[0]}${hint}`);
      }
      const count = missing.length;
      this.#progress.at(() => `waiting for instances that are not stored yet: ${count}`);
      await sleep(clock, PAUSE_MS);
      missing = yield* this.#ofAll(missing);
    }
  }

  /** Answers the instances of which nothing is stored. */
  async *#ofAll(ids: readonly string[]): AsyncGenerator<string, string[]> {
    const missing: string[] = [];
    for (let start = 0; start < ids.length; start += HEADS_AT_ONCE) {
      const some = ids.slice(start, start + HEADS_AT_ONCE);
      const heads = await Promise.all(some.map((id) => this.#ports.instances.readHead(id)));
      for (const [index, id] of some.entries()) {
        const head = heads[index];
        if (head === undefined) missing.push(id);
        else if (head.deletedAtMs === undefined) yield* this.#ofOne(id, head);
      }
    }
    return missing;
  }

  async *#ofOne(id: string, first: InstanceHead): AsyncGenerator<string> {
    const { clock, instances } = this.#ports;
    const untilMs = clock.monotonicMs() + TRIM_MS_MAX;
    let head = first;
    for (;;) {
      const history = this.#historyOf(id, head);
      const drift = this.#driftOf(id, head);
      // Before its first line: one that has been deleted or trimmed meanwhile has no line yet.
      const begun = await firstOf(history, drift);
      if (!('missing' in begun)) {
        yield instanceLine(id, head) + begun.rows;
        yield* history;
        yield begun.drift;
        yield* drift;
        break;
      }
      const now = await instances.readHead(id);
      if (now === undefined || now.deletedAtMs !== undefined) return;
      if (clock.monotonicMs() >= untilMs) throw begun.missing;
      if (trimmedOf(now).history === trimmedOf(head).history) await sleep(clock, PAUSE_MS);
      head = now;
    }
    const below = trimmedOf(head);
    this.#instances += 1;
    this.#observations += head.historyCount - below.history;
    this.#driftEvents += head.driftCount - below.drift;
  }

  #historyOf(id: string, head: InstanceHead): AsyncGenerator<string> {
    const read = (portion: RowPortion) => storedHistory(this.#ports.instances, id, head, portion);
    return portions(id, trimmedOf(head).history, head.historyCount, read, observationLine);
  }

  #driftOf(id: string, head: InstanceHead): AsyncGenerator<string> {
    const read = (portion: RowPortion) => storedDrift(this.#ports.instances, id, head, portion);
    return portions(id, trimmedOf(head).drift, head.driftCount, read, driftLine);
  }
}

/** The first portions of rows; or what says that they are missing. */
async function firstOf(
  history: AsyncGenerator<string>,
  drift: AsyncGenerator<string>,
): Promise<{ rows: string; drift: string } | { missing: CtlError }> {
  try {
    const [rows, events] = [await history.next(), await drift.next()];
    return { rows: rows.value ?? '', drift: events.value ?? '' };
  } catch (error) {
    if (error instanceof CtlError) return { missing: error };
    throw error;
  }
}

/** Rows as lines, oldest first. */
async function* portions<Row>(
  id: string,
  below: number,
  total: number,
  read: (portion: RowPortion) => Promise<Row[]>,
  lineOf: (row: Row) => string,
): AsyncGenerator<string> {
  for (const portion of rowPortions(below, total)) {
    const rows = await read(portion);
    if (rows.length !== portion.count) {
      throw new CtlError(
        `rows of ${id} are missing: it was deleted or trimmed meanwhile, or see "ctl verify"`,
      );
    }
    yield rows.reverse().map(lineOf).join('');
  }
}
