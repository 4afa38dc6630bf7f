import { WorkWindow } from '#ctl/bounded-work';
import { ownedShards } from '#ctl/cluster/snapshot';
import { type ClusterCommand, type ClusterPorts, CtlError } from '#ctl/command';
import {
  type CheckedExport,
  checkExport,
  type ImportedInstance,
  isBegun,
  readAccount,
  readDrift,
  readHistory,
  readInstance,
  readStates,
  refusalOf,
} from '#ctl/export/check';
import { ExportFile } from '#ctl/export/file';
import { missing } from '#ctl/export/schema';
import { OperatorAudit } from '#ctl/operator';
import { counted, countedRows, Progress, percentOf } from '#ctl/printed-text';
import { CHUNK_BOUNDS, cutChunks, type HeadBounds } from '#engine/instance/rows';
import { Fault } from '#errors/fault';
import {
  type Chunk,
  type InstanceHead,
  type NewestRows,
  NO_ROWS,
  type PackedRows,
  trimmedOf,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';

/** `ctl import`: imports an account from a file of `ctl export`, completely or not at all. */
export const IMPORT: ClusterCommand = {
  kind: 'cluster',
  words: ['import'],
  summary: 'import an account from a file of `ctl export`',
  description:
    'Imports an account from a file of `ctl export`. Verifies every instance by a replay of its history, stores everything, and then opens the account. After an interruption, run the command again.',
  args: [{ name: 'file', about: 'file that `ctl export` wrote' }],
  options: {},
  async run(ports, [path = ''], _values, { report }) {
    // Buckets depend on the shard count, which the first node fixes.
    await ownedShards(ports, 'engine');
    const checked = await checkExport(path, ports, report);
    const { counts, account, unproven } = checked;
    const proven = counted(counts.instances - unproven, 'instance');
    report(`${path} is complete; a replay proved the heads of ${proven}`);
    report(planText(account));
    const what = { action: 'account.import', target: account.id };
    const { written, found } = await new OperatorAudit(ports).around(account.id, what, async () => {
      await claim(ports, checked);
      const stored = await storeExport(checked, ports, report);
      await assertComplete(ports, checked);
      await open(ports, checked);
      return stored;
    });
    const { status } = checked;
    const { plan, limits } = account;
    const data = { account: account.id, status, plan, limits, ...counts, written, found, unproven };
    return { data, text: textOf(checked, found) };
  },
};

function textOf({ account, status, counts, unproven }: CheckedExport, found: number): string {
  const lines = [`Account ${account.id} is imported: ${countedRows(counts)}.`, planText(account)];
  if (found > 0) lines.push(`An earlier run had already imported ${counted(found, 'instance')}.`);
  if (unproven > 0) {
    lines.push(
      `${counted(unproven, 'instance')} could not be proven: the rows are in order, but do not suffice for a replay.`,
    );
  }
  lines.push(nextOf(status, account.id));
  return lines.join('\n');
}

/**
 * Describes the plan and limits of the imported account. The file alone determines the limits of an
 * enterprise plan.
 */
function planText({ id, name, plan, limits, planChange }: CheckedExport['account']): string {
  const of = (what: string, { requestsPerMinute, cyclesPerMonth, instances }: typeof limits) =>
    `${what}: ${requestsPerMinute} requests a minute, ${cyclesPerMonth} cycles a month, ${instances} instances`;
  const present = `Account ${id} (${JSON.stringify(name)}), ${of(`plan ${plan}`, limits)}.`;
  if (planChange === undefined) return present;
  const at = new Date(planChange.atMs).toISOString();
  return `${present} From ${at}, ${of(`plan ${planChange.plan}`, planChange.limits)}.`;
}

function nextOf(status: CheckedExport['status'], id: string): string {
  return status === 'suspended'
    ? `The account is suspended, as in the export. To resume: ctl accounts resume ${id}`
    : 'Its keys work within 30 s.';
}

/**
 * Creates the account, closed to all callers, or finds the account of an earlier run. Rejects with
 * a `CtlError` if the id was used before.
 */
async function claim(ports: ClusterPorts, { account }: CheckedExport): Promise<void> {
  const { accounts } = ports;
  const { id } = account;
  if (await isBegun(accounts, account)) return;
  await accounts.create({ ...account, status: 'importing' }).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'conflict') throw error;
    throw new CtlError(
      `account ${id} was deleted here: the id of a deleted account cannot be imported`,
    );
  });
}

/**
 * Checks that only instances of this file are listed. An import of another file may have left more.
 */
async function assertComplete(
  { listings }: ClusterPorts,
  { account, counts }: CheckedExport,
): Promise<void> {
  let listed = 0;
  for await (const page of listings.pages(account.id)) listed += page.length;
  if (listed === counts.instances) return;
  throw new CtlError(
    `account ${account.id} has ${listed} instances instead of ${counts.instances}: another file was imported, or a file has an instance twice. The account stays closed: import the first file, or run "ctl accounts delete"`,
  );
}

/** Adds the keys and opens the account to callers. */
async function open(
  { accounts }: ClusterPorts,
  { account, status, keys }: CheckedExport,
): Promise<void> {
  const { id } = account;
  for (const key of keys) {
    await accounts.changeKeys(id, (there) => ({ put: missing(key, there), answer: undefined }));
  }
  await accounts.endImport({ ...account, status });
}

/** Rows packed into chunks per step. */
const ROWS_AT_ONCE = 512;

/** States written per step: 230 KiB. */
const STATES_AT_ONCE = 256;

/** Maximum gathered chunk size before a write, in bytes. */
const CHUNK_BYTES_MAX = 1_048_576;

/** Maximum instances written concurrently while the next instance is read. */
const IN_FLIGHT_MAX = 8;

/**
 * Interval between checks of the account's status `importing`, in milliseconds. Shorter than the
 * 120 s after which a concurrent deletion makes its last pass.
 */
const LOOK_EVERY_MS = 30_000;

/** A checkpoint that stores no rows. */
const NOTHING = { history: [], drift: [], answers: [] };

/** Counts of instances written by this run, and completed by an earlier run. */
type Written = { readonly written: number; readonly found: number };

/**
 * Writes the instances of a checked export, which stay invisible until the account opens. A
 * repeated run skips complete instances. Rejects with a `CtlError` if the file has changed since
 * the check, or if the account is being deleted.
 */
async function storeExport(
  checked: CheckedExport,
  ports: ClusterPorts,
  report: (line: string) => void,
): Promise<Written> {
  const progress = new Progress(ports.clock, report);
  const file = await ExportFile.open(checked.path, (bytes, total) =>
    progress.at(() => `written ${percentOf(bytes, total)} % of ${checked.path}`),
  );
  const { account } = await readAccount(file);
  const window = new WorkWindow(IN_FLIGHT_MAX);
  let written = 0;
  let found = 0;
  let lookedMs = ports.clock.monotonicMs();
  const look = async (): Promise<void> => {
    if (ports.clock.monotonicMs() - lookedMs < LOOK_EVERY_MS) return;
    await assertImporting(account.id, ports);
    lookedMs = ports.clock.monotonicMs();
  };
  for (;;) {
    await look();
    const instance = await readInstance(file, account.id);
    if (instance === undefined) break;
    const write = await gather(file, instance, ports, look);
    await window.add(async () => {
      if (await write()) written += 1;
      else found += 1;
    });
  }
  file.end();
  await window.end();
  if (file.sha256 !== checked.sha256) file.fail('the file has changed since it was checked');
  return { written, found };
}

async function assertImporting(id: string, { accounts }: ClusterPorts): Promise<void> {
  const status = (await accounts.find(id))?.account.status;
  if (status === 'importing') return;
  throw new CtlError(
    `the import of account ${id} was ended by another command: the account is ${status ?? 'deleted'}`,
  );
}

/**
 * Reads the rows of an instance. Returns a function that writes the remaining rows with the head,
 * and resolves with false if the instance was complete already.
 *
 * Before the first chunk, the listing line and an unfinished head of the previous version are
 * stored. The unfinished head counts all rows, so a deletion of the account finds the rows of an
 * interrupted import.
 */
async function gather(
  file: ExportFile,
  { id, head }: ImportedInstance,
  { instances, listings }: ClusterPorts,
  look: () => Promise<void>,
): Promise<() => Promise<boolean>> {
  const { accountId, name, description, createdAtMs } = head;
  const line = file.lineNumber - 1;
  const unfinished = unfinishedOf(head);
  let isWanted: boolean | undefined;
  const begin = async (hasChunks: boolean): Promise<boolean> => {
    const stored = await instances.readHead(id);
    const refusal = refusalOf({ id, head }, stored);
    if (refusal !== undefined) file.fail(refusal, line);
    if (stored?.version === head.version) return false;
    // The listing version must not exceed the version of the first stored head. A deletion would
    // otherwise keep the listing line.
    const { version } = hasChunks ? unfinished : head;
    await listings.put(accountId, { instanceId: id, version, name, description, createdAtMs });
    if (hasChunks) await instances.checkpoint([{ ...NOTHING, instanceId: id, head: unfinished }]);
    return true;
  };
  const ahead = async (history: readonly Chunk[], drift: readonly Chunk[]): Promise<void> => {
    await look();
    isWanted ??= await begin(true);
    if (!isWanted) return;
    const checkpoint = { ...NOTHING, instanceId: id, head: unfinished, history, drift };
    await instances.checkpoint([checkpoint]);
  };
  const states = await readStates(file, head);
  const storeStates = async (): Promise<void> => {
    while (states.length > STATES_AT_ONCE) {
      const some = states.splice(0, STATES_AT_ONCE);
      await instances.checkpoint([{ ...NOTHING, instanceId: id, head: unfinished, states: some }]);
    }
  };
  const below = trimmedOf(head);
  const history = new Cutting(CHUNK_BOUNDS.history, below.history, (chunks) => ahead(chunks, []));
  for await (const row of readHistory(file)) await history.add(OBSERVATIONS.pack(row));
  const ofHistory = history.end();
  const drift = new Cutting(CHUNK_BOUNDS.drift, below.drift, (chunks) => ahead([], chunks));
  for await (const row of readDrift(file)) await drift.add(DRIFT_EVENTS.pack(row));
  const ofDrift = drift.end();
  const whole = { ...head, newestHistory: ofHistory.newest, newestDrift: ofDrift.newest };
  const chunks = { history: ofHistory.chunks, drift: ofDrift.chunks };
  return async () => {
    await look();
    isWanted ??= await begin(
      chunks.history.length + chunks.drift.length > 0 || states.length > STATES_AT_ONCE,
    );
    if (!isWanted) return false;
    await storeStates();
    await instances.checkpoint([{ ...NOTHING, instanceId: id, head: whole, states, ...chunks }]);
    return true;
  };
}

/**
 * Unfinished head, stored before the chunks of its instance. The head has the previous version and
 * counts all rows, so a deletion finds the rows of an interrupted copy or import.
 */
export function unfinishedOf(head: InstanceHead): InstanceHead {
  return {
    ...head,
    version: head.version - 1,
    newestHistory: { after: head.historyCount, rows: '' },
    newestDrift: { after: head.driftCount, rows: '' },
  };
}

/** Packs rows into chunks with the same bounds as an engine. */
class Cutting {
  readonly #bounds: HeadBounds;
  readonly #write: (chunks: readonly Chunk[]) => Promise<void>;
  #added: PackedRows[] = [];
  #chunks: Chunk[] = [];
  #bytes = 0;
  #newest: NewestRows;
  #count: number;

  /** Rows up to ordinal `below` were trimmed. */
  constructor(
    bounds: HeadBounds,
    below: number,
    write: (chunks: readonly Chunk[]) => Promise<void>,
  ) {
    this.#bounds = bounds;
    this.#newest = below === 0 ? NO_ROWS : { after: below, rows: '' };
    this.#count = below;
    this.#write = write;
  }

  async add(row: PackedRows): Promise<void> {
    this.#added.push(row);
    this.#bytes += row.length;
    this.#count += 1;
    if (this.#added.length < ROWS_AT_ONCE && this.#bytes <= CHUNK_BYTES_MAX) return;
    this.#cut();
    if (this.#bytes <= CHUNK_BYTES_MAX) return;
    await this.#write(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
  }

  /** Returns the unwritten chunks and the newest rows. */
  end(): { readonly chunks: readonly Chunk[]; readonly newest: NewestRows } {
    this.#cut();
    return { chunks: this.#chunks, newest: this.#newest };
  }

  #cut(): void {
    const cut = cutChunks(this.#newest, this.#added, this.#count, this.#bounds);
    this.#newest = cut.newest;
    this.#chunks.push(...cut.chunks);
    this.#added = [];
  }
}
