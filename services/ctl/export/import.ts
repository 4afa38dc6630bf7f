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
  refusalOf,
} from '#ctl/export/check';
import { ExportFile } from '#ctl/export/file';
import { missing } from '#ctl/export/schema';
import { OperatorAudit } from '#ctl/operator';
import { counted, countedRows, Progress, percentOf } from '#ctl/text';
import { WorkWindow } from '#ctl/work';
import { CHUNK_BOUNDS, cutChunks, type HeadBounds } from '#engine/instance/rows';
import { Fault } from '#fault/fault';
import {
  type Chunk,
  type InstanceHead,
  type NewestRows,
  NO_ROWS,
  type PackedRows,
  trimmedOf,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';

/** `ctl import`: an account from a file of `ctl export`, whole or not at all. */
export const IMPORT: ClusterCommand = {
  kind: 'cluster',
  words: ['import'],
  summary: 'read an account from a file of `ctl export`',
  description:
    'Reads an account from a file of `ctl export`, proves every head from its rows, writes it, and opens it when all is there; goes on where it was cut when it is run again.',
  args: [{ name: 'file', about: 'file that `ctl export` wrote' }],
  options: {},
  async run(ports, [path = ''], _values, { report }) {
    // Where instances lie follows from the number of shards, which a first node fixes.
    await ownedShards(ports, 'engine');
    const checked = await checkExport(path, ports, report);
    const { counts, account, unproven } = checked;
    const proven = counted(counts.instances - unproven, 'instance');
    report(`${path} is whole; proved by their rows: ${proven}`);
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
  const lines = [`Account ${account.id} is here: ${countedRows(counts)}.`, planText(account)];
  if (found > 0) lines.push(`${found} of the instances were there from an earlier try.`);
  if (unproven > 0) {
    lines.push(
      `Of ${unproven} the rows are in order, but the head does not follow from them alone.`,
    );
  }
  lines.push(nextOf(status, account.id));
  return lines.join('\n');
}

/** What the account may do here. The numbers of an enterprise are whatever its file says. */
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
    ? `It is suspended as it was: ctl accounts resume ${id}`
    : 'Its keys are let in within 30 s.';
}

/** Makes the account, which no caller can use yet, or finds it as an earlier try has made it. */
async function claim(ports: ClusterPorts, { account }: CheckedExport): Promise<void> {
  const { accounts } = ports;
  const { id } = account;
  if (await isBegun(accounts, account)) return;
  await accounts.create({ ...account, status: 'importing' }).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'conflict') throw error;
    throw new CtlError(`account ${id} was deleted here, and an id is never used twice`);
  });
}

/** What an import of another file has left would be seen with the rest. */
async function assertComplete(
  { listings }: ClusterPorts,
  { account, counts }: CheckedExport,
): Promise<void> {
  let listed = 0;
  for await (const page of listings.pages(account.id)) listed += page.length;
  if (listed === counts.instances) return;
  throw new CtlError(
    `account ${account.id} has ${listed} instances instead of ${counts.instances}: another file was imported, or one names an instance twice; it stays closed: import the first file, or give it up with "ctl accounts delete"`,
  );
}

/** The keys, and then the account: from here on it is served. */
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

/** Rows that are cut into chunks at once. Chosen. */
const ROWS_AT_ONCE = 512;

/** Bytes of chunks that gather before they are written. Chosen. */
const CHUNK_BYTES_MAX = 1_048_576;

/** Instances that are being written while the next one is read. Chosen. */
const IN_FLIGHT_MAX = 8;

/**
 * How often it is looked whether the account is still being imported, in milliseconds: a deletion that
 * began meanwhile looks for the last time after 120 s.
 */
const LOOK_EVERY_MS = 30_000;

/** A checkpoint that stores no rows. */
const NOTHING = { history: [], drift: [], answers: [] };

/** How many instances have been written, and how many an earlier try had left to do no more for. */
type Written = { readonly written: number; readonly found: number };

/**
 * Writes the instances of a checked export, none of which is seen before its account is opened.
 * Repeated after a cut it leaves those alone that are there. Rejects with a `CtlError` if the file
 * is another one by now, and soon after the account has begun to be deleted.
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
  throw new CtlError(`account ${id} is no longer being imported: it is ${status ?? 'deleted'}`);
}

/**
 * Reads the rows of an instance; answers what writes the last of them with its head, and whether there
 * was anything to write. Before the first chunk there is its line in the listing, and a head of the
 * version before, that counts all rows: so a deletion of the account finds what a cut import has left.
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
    // Not above the head that is stored first, or its deletion would not take the line away.
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
    isWanted ??= await begin(chunks.history.length + chunks.drift.length > 0);
    if (!isWanted) return false;
    await instances.checkpoint([{ ...NOTHING, instanceId: id, head: whole, ...chunks }]);
    return true;
  };
}

/**
 * The head under which chunks are written ahead of their own: of the version before, it counts all rows,
 * so that a deletion finds what a cut has left.
 */
export function unfinishedOf(head: InstanceHead): InstanceHead {
  return {
    ...head,
    version: head.version - 1,
    newestHistory: { after: head.historyCount, rows: '' },
    newestDrift: { after: head.driftCount, rows: '' },
  };
}

/** Rows that become chunks as an engine would have cut them. */
class Cutting {
  readonly #bounds: HeadBounds;
  readonly #write: (chunks: readonly Chunk[]) => Promise<void>;
  #added: PackedRows[] = [];
  #chunks: Chunk[] = [];
  #bytes = 0;
  #newest: NewestRows;
  #count: number;

  /** The rows up to `below` were trimmed. */
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

  /** What has not been written yet. */
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
