import type { Account, ApiKeyRecord } from '#accounts/account';
import { WorkWindow } from '#ctl/bounded-work';
import { type ClusterPorts, CtlError } from '#ctl/command';
import { ExportFile } from '#ctl/export/file';
import type { ExportCounts } from '#ctl/export/lines';
import { importedPlan, keyOf, type LineOf } from '#ctl/export/schema';
import { Progress, percentOf } from '#ctl/printed-text';
import { knownResets, verifyHead } from '#ctl/verify/heads';
import { isWithin } from '#ctl/verify/states';
import { MODELS, type Model } from '#identity/model';
import { MODE_KEYS } from '#identity/modes';
import type { State } from '#identity/state';
import {
  type DriftRow,
  type Floor,
  type HistoryRow,
  headTags,
  type InstanceHead,
  NO_ROWS,
  packedState,
  trimmedOf,
} from '#storage/ports/instances';
import { comparePositions, type StatePosition, type StateRow } from '#storage/ports/states';

/** Maximum keys per export: a new key every day for 27 years. */
const KEYS_MAX = 10_000;

/** Maximum head reads in flight while the next lines are parsed. */
const READS_IN_FLIGHT_MAX = 8;

/** An exported instance without its rows. The rows are streamed from the file. */
export type ImportedInstance = { readonly id: string; readonly head: InstanceHead };

/**
 * An export that passed all checks: every line is valid, every head follows from its rows, and the
 * account does not exist in this cluster.
 */
export type CheckedExport = {
  readonly path: string;
  readonly account: Omit<Account, 'status'>;
  readonly status: 'active' | 'suspended';
  readonly keys: readonly ApiKeyRecord[];
  readonly counts: ExportCounts;
  readonly sha256: string;
  /**
   * Instances whose rows are in order, but do not prove how a generation began (decision 86).
   */
  readonly unproven: number;
};

/**
 * Reads a whole export and writes nothing. Rejects with a `CtlError` at the first error in the
 * file. Also rejects if an instance already exists here and does not come from an import of this
 * account.
 */
export async function checkExport(
  path: string,
  { instances, accounts, clock }: Pick<ClusterPorts, 'instances' | 'accounts' | 'clock'>,
  report: (line: string) => void,
): Promise<CheckedExport> {
  const progress = new Progress(clock, report);
  const file = await ExportFile.open(path, (bytes, total) =>
    progress.at(() => `checked ${percentOf(bytes, total)} % of ${path}`),
  );
  const { account, status, keys } = await readAccount(file);
  await isBegun(accounts, account);
  const reads = new WorkWindow(READS_IN_FLIGHT_MAX);
  let unproven = 0;
  for (;;) {
    const line = file.lineNumber;
    const instance = await readInstance(file, account.id);
    if (instance === undefined) break;
    await reads.add(async () => {
      const refusal = refusalOf(instance, await instances.readHead(instance.id));
      if (refusal !== undefined) file.fail(refusal, line);
    });
    const states = await readStates(file, instance.head);
    if (!(await isProved(file, instance, states, line))) unproven += 1;
    await checkDrift(file, instance.head, line);
  }
  await reads.end();
  file.end();
  const { counts, sha256 } = file;
  return { path, account, status, keys, counts, sha256, unproven };
}

/**
 * Whether an earlier run began to import this account. Rejects with a `CtlError` if the account
 * exists for any other reason.
 */
export async function isBegun(
  accounts: ClusterPorts['accounts'],
  { id, name, createdAtMs }: CheckedExport['account'],
): Promise<boolean> {
  const found = (await accounts.find(id))?.account;
  if (found === undefined) return false;
  if (found.status !== 'importing') {
    throw new CtlError(`account ${id} exists already (${found.status}): nothing was imported`);
  }
  if (found.createdAtMs === createdAtMs && found.name === name) return true;
  throw new CtlError(
    `account ${id} is being imported from another file: import that file, or run "ctl accounts delete"`,
  );
}

/** Reads the lines before the instances: the account and its keys. */
export async function readAccount(
  file: ExportFile,
): Promise<Pick<CheckedExport, 'account' | 'status' | 'keys'>> {
  const at = file.lineNumber;
  const line = await file.expect('account');
  const { id, name, status, created_at_ms: createdAtMs } = line;
  if (id !== file.header.account) file.fail(`id: the first line names ${file.header.account}`, at);
  const { model_version: modelVersion } = line;
  if (modelVersion !== undefined) knownModel(file, modelVersion, 'the account', at);
  const keys: ApiKeyRecord[] = [];
  for (let key = await file.take('key'); key !== undefined; key = await file.take('key')) {
    if (keys.length === KEYS_MAX) file.fail(`there are more than ${KEYS_MAX} keys`);
    keys.push(keyOf(key));
  }
  const { retention_days: retention } = line;
  return {
    account: {
      ...{ id, name, createdAtMs },
      ...importedPlan(line),
      ...(modelVersion === undefined ? {} : { modelVersion }),
      ...(retention === undefined ? {} : { retention }),
    },
    status,
    keys,
  };
}

/** Reads the next instance. Undefined if there are no more. */
export async function readInstance(
  file: ExportFile,
  accountId: string,
): Promise<ImportedInstance | undefined> {
  const at = file.lineNumber;
  const line = await file.take('instance');
  if (line === undefined) return undefined;
  const { stateLength } = knownModel(file, line.model_version, line.id, at);
  const head = headOf(line, accountId, stateOf(file, line.model, [stateLength], at));
  const floor = floorOf(file, line, at);
  return { id: line.id, head: floor === undefined ? head : { ...head, floor } };
}

/**
 * The model of a version. Refuses the file if this program lacks the model, because another release
 * wrote the file.
 */
function knownModel(file: ExportFile, version: string, what: string, line: number): Model {
  const model = MODELS.find(version);
  if (model !== undefined) return model;
  const known = MODELS.versions.join(', ');
  return file.fail(`${what} needs model ${version}; this program has ${known}`, line);
}

/** Numbers of doubles in the states of all models. */
const STATE_LENGTHS = MODELS.versions.flatMap((version) => MODELS.find(version)?.stateLength ?? []);

function stateOf(file: ExportFile, bytes: Buffer, lengths: readonly number[], line: number): State {
  const isKnown = lengths.some(
    (length) => bytes.length === length * Float64Array.BYTES_PER_ELEMENT,
  );
  if (isKnown) return new Float64Array(new Uint8Array(bytes).buffer);
  return file.fail(`model: ${bytes.length} bytes, not ${lengths.join(' or ')} doubles`, line);
}

/** Reads the floor of a trimmed instance. Undefined if no rows were trimmed. */
function floorOf(file: ExportFile, line: LineOf<'instance'>, at: number): Floor | undefined {
  const { trimmed_history: history, trimmed_drift: drift, trimmed_model: bytes } = line;
  const { trimmed_generation: generation, trimmed_cycle: cycle } = line;
  const { trimmed_timestamp_ms: timestampMs } = line;
  const fields = [history, drift, generation, cycle, timestampMs];
  if (fields.every((field) => field === undefined) && bytes === undefined) return undefined;
  const isWhole =
    history !== undefined &&
    drift !== undefined &&
    generation !== undefined &&
    cycle !== undefined &&
    timestampMs !== undefined;
  if (!isWhole || history > line.history_count || drift > line.drift_count) {
    return file.fail(`trimmed_history: ${line.id} has incomplete or wrong trim fields`, at);
  }
  if (cycle === 0 && history > 0) {
    return file.fail(`trimmed_cycle: ${line.id} has a floor without an observation`, at);
  }
  // An earlier model may have stored the state at the floor.
  const state =
    bytes === undefined ? undefined : packedState(stateOf(file, bytes, STATE_LENGTHS, at));
  return { history, drift, generation, cycle, timestampMs, state };
}

/** Reads the states of an instance. Refuses states out of order, and states that no model has. */
export async function readStates(file: ExportFile, head: InstanceHead): Promise<StateRow[]> {
  const states: StateRow[] = [];
  for (;;) {
    const at = file.lineNumber;
    const line = await file.take('state');
    if (line === undefined) return states;
    const { kind: _, origin_ms: originMs, observed_at_ms: observedAtMs, model, ...rest } = line;
    const { model_version: modelVersion, ...place } = rest;
    const { stateLength } = knownModel(file, modelVersion, 'the state', at);
    const vector = stateOf(file, model, [stateLength], at);
    const row = { ...place, originMs, observedAtMs, modelVersion, state: packedState(vector) };
    const last = states.at(-1);
    const isNext = last === undefined || comparePositions(last, row) < 0;
    if (!isNext || !isWithin(row, head) || !vector.every(Number.isFinite)) {
      file.fail(`state: cycle ${row.cycle} of generation ${row.generation} is out of place`, at);
    }
    states.push(row);
  }
}

function placeOf({ generation, cycle }: StatePosition): string {
  return `${generation}/${cycle}`;
}

/** Yields the next observations of a file, up to the first line of another kind. */
export async function* readHistory(file: ExportFile): AsyncGenerator<HistoryRow> {
  for (;;) {
    const line = await file.take('observation');
    if (line === undefined) return;
    const { kind: _, mode, context: contextJson, timestamp_ms: timestampMs, ...rest } = line;
    yield { ...rest, mode: MODE_KEYS.indexOf(mode), contextJson, timestampMs };
  }
}

/** Yields the next drift events of a file, up to the first line of another kind. */
export async function* readDrift(file: ExportFile): AsyncGenerator<DriftRow> {
  for (;;) {
    const line = await file.take('drift');
    if (line === undefined) return;
    yield {
      ordinal: line.ordinal,
      generation: line.generation,
      cycle: line.cycle,
      level: line.level,
      deviationJson: line.deviation,
      affectedModesJson: line.affected_modes,
      isRolledBack: line.rolled_back,
      timestampMs: line.timestamp_ms,
    };
  }
}

/** Reason why an instance must not replace `stored`. Undefined if the instance may be written. */
export function refusalOf(
  { id, head }: ImportedInstance,
  stored: InstanceHead | undefined,
): string | undefined {
  if (stored === undefined) return undefined;
  if (stored.deletedAtMs !== undefined) return `${id} was deleted here less than 40 days ago`;
  if (stored.accountId !== head.accountId) return `${id} exists already in another account`;
  if (stored.version <= head.version) return undefined;
  return `${id} exists already with the newer version ${stored.version} (file: ${head.version})`;
}

async function isProved(
  file: ExportFile,
  { id, head }: ImportedInstance,
  states: readonly StateRow[],
  line: number,
): Promise<boolean> {
  const byPosition = new Map(states.map((row) => [placeOf(row), row]));
  const onCycle = (row: StatePosition, replayed: readonly State[]): void => {
    const stored = byPosition.get(placeOf(row));
    // A replay of older generations has only the values that all models share.
    const isReached = replayed.some((state) => stored?.state.startsWith(packedState(state)));
    if (stored === undefined || replayed.length === 0 || isReached) return;
    const where = `cycle ${row.cycle} of generation ${row.generation}`;
    file.fail(`${id} contradicts its rows: the state at ${where} is another`, line);
  };
  const onReset = (generation: number, replayed: readonly State[]) =>
    onCycle({ generation, cycle: 0 }, replayed);
  const resets = knownResets(states);
  const replay = await verifyHead(head, readHistory(file), { resets, onCycle, onReset });
  switch (replay.kind) {
    case 'same':
      return true;
    case 'unknown_start':
      return false;
    case 'different':
      return file.fail(`${id} contradicts its rows: ${replay.differences[0]}`, line);
    case 'other_model':
      return file.fail(`${id}: this program cannot replay model ${replay.modelVersion}`, line);
    case 'deleted':
      throw new CtlError(`${id} is deleted`);
  }
}

/**
 * Checks that drift events are complete, in order and in the right generation, because a replay
 * does not check drift events.
 */
async function checkDrift(file: ExportFile, head: InstanceHead, line: number): Promise<void> {
  const { driftCount, driftStart, floor } = head;
  let last = { ordinal: 0, generation: 1, cycle: 0, ...floor };
  last.ordinal = trimmedOf(head).drift;
  // After a trim, the start of the floor's generation is unknown.
  let before = Math.min(driftStart, last.ordinal);
  for await (const row of readDrift(file)) {
    const { ordinal, generation, cycle } = row;
    const isNext =
      generation === last.generation ? cycle > last.cycle : generation > last.generation;
    if (ordinal !== last.ordinal + 1 || !isNext) {
      file.fail(`drift event ${ordinal} cannot follow ${last.ordinal}`, file.lineNumber - 1);
    }
    if (generation < head.generation) before = ordinal;
    last = { ordinal, generation, cycle };
  }
  if (last.ordinal !== driftCount)
    file.fail(`drift_count is ${driftCount}, not ${last.ordinal}`, line);
  if (before !== driftStart) file.fail(`drift_start is ${driftStart}, not ${before}`, line);
}

/** Builds a head without `newest` rows. The import derives these from the other rows. */
function headOf(line: LineOf<'instance'>, accountId: string, model: State): InstanceHead {
  return {
    version: line.version,
    accountId,
    name: line.name,
    description: line.description,
    ...headTags(line.tags && JSON.stringify(line.tags)),
    ...(line.changed_at_ms === undefined ? {} : { changedAtMs: line.changed_at_ms }),
    createdAtMs: line.created_at_ms,
    updatedAtMs: line.updated_at_ms,
    deletedAtMs: undefined,
    originMs: line.origin_ms,
    observedAtMs: line.observed_at_ms,
    generation: line.generation,
    historyCount: line.history_count,
    historyStart: line.history_start,
    driftCount: line.drift_count,
    driftStart: line.drift_start,
    newestHistory: NO_ROWS,
    newestDrift: NO_ROWS,
    modelVersion: line.model_version,
    model,
    recentCalls: [],
  };
}
