import { createHash } from 'node:crypto';
import { type RowPortion, rowPortions } from '#ctl/bounded-work';
import {
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  NotFoundError,
  UsageError,
} from '#ctl/command';
import { ACCOUNT } from '#ctl/command-line';
import {
  accountLine,
  driftLine,
  type ExportCounts,
  endLine,
  headerLine,
  instanceLine,
  keyLine,
  observationLine,
  stateLine,
} from '#ctl/export/lines';
import { outputTo } from '#ctl/output';
import { counted, countedRows, Progress } from '#ctl/printed-text';
import { isWithin } from '#ctl/verify/states';
import { TRIM_MS_MAX } from '#ctl/verify/trim-plan';
import { type Clock, sleep } from '#stdlib/clock';
import { storedDrift, storedHistory } from '#storage/ports/chunks';
import { type InstanceHead, trimmedOf } from '#storage/ports/instances';
import { statePages } from '#storage/ports/states';

/** `ctl export`: writes an account with all its data as lines of JSON. */
export const EXPORT: ClusterCommand = {
  kind: 'cluster',
  words: ['export'],
  summary: 'write an account as JSON lines',
  description:
    'Writes an account with its keys (as digests), instances, past states, observations and drift events as JSON lines, to standard output or a new file. The export contains every change that was acknowledged at least two minutes before the start. The export does not contain the feed of the account: after an import, the feed begins empty.',
  args: [ACCOUNT],
  options: { file: { value: 'path', about: 'path of a new file (default: standard output)' } },
  async run(ports, [id = ''], { file, json }, { write, report, warn }) {
    if (file === undefined && json) {
      throw new UsageError('--json needs --file, because the export uses standard output');
    }
    await using output = await outputTo(file, write);
    const progress = new Progress(ports.clock, file === undefined ? warn : report);
    const counts = await exported(ports, id, (text) => output.write(text), progress);
    await output.keep();
    if (file === undefined) return { data: undefined, text: '' };
    return {
      data: { account: id, file, ...counts },
      text: `${file}: ${countedRows(counts)}.\nNext, run in the target installation: ctl import ${file}`,
    };
  },
};

/** Streams the export line by line, in constant memory. */
async function exported(
  ports: ClusterPorts,
  accountId: string,
  write: (text: string) => Promise<void>,
  progress: Progress,
): Promise<ExportCounts> {
  const found = await ports.accounts.find(accountId);
  if (found === undefined) throw new NotFoundError(`there is no account ${accountId}`);
  const { account, keys } = found;
  if (account.status === 'importing' || account.status === 'deleting') {
    throw new CtlError(`account ${accountId} is ${account.status} and cannot be exported`);
  }
  const hash = createHash('sha256');
  const put = async (text: string): Promise<void> => {
    hash.update(text);
    await write(text);
  };
  const exportedAt = new Date(ports.clock.wallMs()).toISOString();
  await put(headerLine(accountId, ports.release, exportedAt));
  await put(accountLine(account) + keys.map(keyLine).join(''));
  const instances = new ExportedInstances(ports, accountId, progress);
  for await (const text of instances.lines()) await put(text);
  const counts = { keys: keys.length, ...instances.counts };
  await write(endLine(counts, hash.digest('hex')));
  return counts;
}

/** Maximum heads read concurrently. A head holds up to 6 KiB. */
const HEADS_AT_ONCE = 32;

/**
 * Maximum time from acknowledgement to storage, in milliseconds: 120 s until the checkpoint, and
 * 20 s of slack.
 */
const STORED_MS = 140_000;

/** Interval between two reads of missing heads, in milliseconds. */
const PAUSE_MS = 2_000;

type Counts = Omit<ExportCounts, 'keys'>;

/**
 * Streams an account's instances as export lines. Under concurrent writes, each instance is a
 * consistent snapshot: its head selects the rows by version, and stored rows never change.
 */
class ExportedInstances {
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

  /** Number of instances and rows written so far. */
  get counts(): Counts {
    return {
      instances: this.#instances,
      observations: this.#observations,
      drift_events: this.#driftEvents,
    };
  }

  /** Yields all lines in portions. Instances that are listed but not stored yet come last. */
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
    // All missing instances were listed before this moment, so engines store them in `STORED_MS`.
    const listedMs = clock.monotonicMs();
    while (missing.length > 0) {
      if (clock.monotonicMs() - listedMs > STORED_MS) {
        const next =
          this.#ports.file === undefined
            ? 'check with "ctl nodes" that the engines run'
            : 'start the service, which stores listed instances';
        const listed = `${counted(missing.length, 'instance')} listed but not stored`;
        throw new CtlError(`${listed}, such as ${missing[0]}: ${next}`);
      }
      const count = missing.length;
      this.#progress.at(() => `waiting until engines store ${counted(count, 'instance')}`);
      await sleep(clock, PAUSE_MS);
      missing = yield* this.#ofAll(missing);
    }
  }

  /** Yields the lines of stored instances. Returns the ids of unstored instances. */
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
      // Read the first portions before writing the instance line, so that an instance that was
      // deleted or trimmed meanwhile can be retried.
      const begun = await firstOf(history, drift);
      if (!('missing' in begun)) {
        yield instanceLine(id, head);
        for await (const page of statePages(instances, id)) {
          yield page
            .filter((row) => isWithin(row, head))
            .map(stateLine)
            .join('');
        }
        yield begun.rows;
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

/** Reads the first portion of both tables. Returns the error if rows are missing. */
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

/** Yields rows as lines, oldest first. Throws a `CtlError` if rows are missing. */
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
        `rows of ${id} are missing: run the export again; if rows are still missing, run "ctl verify"`,
      );
    }
    yield rows.reverse().map(lineOf).join('');
  }
}
