import {
  CtlError,
  EXIT,
  type NamedStores,
  type Printout,
  type StoresCommand,
  UsageError,
} from '#ctl/command';
import { compareAccounts, copyAccounts, copyUsers, openAccounts } from '#ctl/copy/accounts';
import { type BothSides, Compared, compareBucket, copyBucket } from '#ctl/copy/buckets';
import {
  assertStillQuiet,
  assertUnserved,
  claimTarget,
  copyJournals,
  type QuietSource,
  quieted,
} from '#ctl/copy/stores';
import { outputTo } from '#ctl/output';
import { counted, countedRows, Progress, placeFaultOf, placeOf } from '#ctl/printed-text';
import { verifyTails } from '#ctl/verify/tail';
import type { Clock } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { bucketCountOf } from '#storage/ports/instances';

/** Maximum buckets copied or compared concurrently. Each bucket holds up to 1 MiB in memory. */
const BUCKETS_IN_FLIGHT_MAX = 8;

/** Maximum contradicted instances named in the output. */
const NAMED_MAX = 3;

/** `ctl copy`: copies all data of an installation into the empty stores of another installation. */
export const COPY: StoresCommand = {
  kind: 'stores',
  words: ['copy'],
  summary: 'copy all data to empty stores',
  description:
    'Copies all data from one place to an empty place: accounts with keys, members, meters, feeds, billing and audit trails; instances with history, drift, past states and stored answers; and journals. No process may serve either place meanwhile. Compares both sides and replays every history before the accounts open. After an interruption, run the command again. `--secret-file` writes the generated cluster secret of a data file to a new file.',
  args: [],
  options: {
    from: { value: 'place', about: 'source', isRequired: true, faultOf: placeFaultOf },
    to: { value: 'place', about: 'target', isRequired: true, faultOf: placeFaultOf },
    'secret-file': { value: 'path', about: 'new file for the secret of the source' },
  },
  async run(places, _args, { from, to, 'secret-file': secretFile }, { warn }) {
    const [source, target] = [placeOf(from), placeOf(to)];
    if (places.nameOf(source) === places.nameOf(target)) {
      throw new UsageError(`--from and --to both name ${places.nameOf(source)}`);
    }
    await using stores = await places.openSource(source);
    await using secret = await secretOutput(secretFile, stores);
    const quiet = await quieted(stores, places.clock);
    const openTarget = () => places.openTarget(target, stores.ownSecret);
    await claim(openTarget, quiet);
    // Opened again, because buckets depend on the number of shards, which `claim` has fixed.
    await using others = await openTarget();
    const sides = { source: stores, target: others, clock: places.clock };
    const printout = await copied(sides, quiet, warn);
    await secret.keep();
    return printout;
  },
};

type NamedSides = BothSides & { readonly source: NamedStores; readonly target: NamedStores };

async function claim(
  openTarget: () => Promise<NamedStores & AsyncDisposable>,
  quiet: QuietSource,
): Promise<void> {
  await using stores = await openTarget();
  await claimTarget(stores, quiet);
}

/**
 * Writes the secret of a data file to a new file that only this user can read, for the processes of
 * a cluster. `keep` makes the new file permanent.
 */
async function secretOutput(path: string | undefined, { name, ownSecret }: NamedStores) {
  if (path !== undefined && ownSecret === undefined) {
    throw new CtlError(
      `${name} has no generated secret: omit --secret-file and use SERVICE_CLUSTER_SECRET of its processes`,
    );
  }
  const output = await outputTo(path, async () => undefined);
  await output.write(`${ownSecret}\n`);
  return output;
}

async function copied(
  sides: NamedSides,
  quiet: QuietSource,
  warn: (line: string) => void,
): Promise<Printout> {
  const { source, target, clock } = sides;
  const { written, progress } = await copyAll(sides, quiet, new Steps(clock, warn));
  const compared = new Compared();
  await forEachConcurrently(bucketsOf(quiet), BUCKETS_IN_FLIGHT_MAX, (bucket) =>
    compareBucket(sides, bucket, compared, () => progress.at('instances compared')),
  );
  const records = await verifyAllTails(sides, quiet, compared);
  await compareAccounts(sides, false, () => progress.at('accounts compared'));
  await assertStillQuiet(source, quiet);
  await assertUnserved(target, quiet.tables);
  await openAccounts(sides);
  const accounts = await compareAccounts(sides, true, () => progress.at('accounts compared again'));
  // Journals are last: once they exist, nodes at the target can take over the shards.
  await copyJournals(source, target, ownersOf(quiet));
  return printoutOf(sides, { ...accounts, compared, records, written });
}

/** Copies everything that the target lacks. Returns the number of written instances. */
async function copyAll(sides: NamedSides, quiet: QuietSource, progress: Steps) {
  let written = 0;
  await copyAccounts(sides, () => progress.at('accounts copied'));
  await copyUsers(sides, () => progress.at('people copied'));
  await forEachConcurrently(bucketsOf(quiet), BUCKETS_IN_FLIGHT_MAX, (bucket) =>
    copyBucket(sides, bucket, () => {
      written += 1;
      progress.at('instances copied');
    }),
  );
  return { written, progress };
}

/**
 * Applies the journal tails to the instances of the target and verifies the resulting heads.
 * Returns the number of records.
 */
async function verifyAllTails(
  { source, target, clock }: NamedSides,
  { tables }: QuietSource,
  compared: Compared,
): Promise<number> {
  const parts = { journals: source.journals, instances: target.instances, clock };
  let records = 0;
  for (const table of tables) {
    records += await verifyTails(parts, table, (id, replay) => compared.add(id, replay));
  }
  return records;
}

function bucketsOf({ tables }: QuietSource): readonly number[] {
  const engines = tables.find(({ service }) => service === 'engine');
  return Array.from({ length: bucketCountOf(engines?.shardCount ?? 0) }, (_, bucket) => bucket);
}

function ownersOf({ tables }: QuietSource): ReadonlySet<string> {
  return new Set(tables.flatMap(({ rows }) => rows.map(({ owner }) => owner)));
}

/** Reports the progress of the current step as a count. */
class Steps {
  readonly #progress: Progress;
  #what = '';
  #count = 0;

  constructor(clock: Clock, report: (line: string) => void) {
    this.#progress = new Progress(clock, report);
  }

  /** Counts one more item of the step `what`. */
  at(what: string): void {
    this.#count = what === this.#what ? this.#count + 1 : 1;
    this.#what = what;
    this.#progress.at(() => `${what}: ${this.#count}`);
  }
}

type Result = {
  readonly accounts: number;
  readonly users: number;
  readonly records: number;
  readonly written: number;
  readonly compared: Compared;
};

function printoutOf({ source, target }: NamedSides, result: Result): Printout {
  const { accounts, users, records, written, compared } = result;
  const { instances, markers, observations, driftEvents, answers, unproven } = compared;
  const rows = { instances, observations, drift_events: driftEvents };
  const contradicted = [...compared.contradicted];
  const data = {
    from: source.name,
    to: target.name,
    ...{ accounts, users, ...rows, deleted: markers, stored_answers: answers, records },
    ...{ written, unproven, contradicted },
  };
  const isContradicted = contradicted.length > 0;
  const lines = [
    `Copied ${source.name} to ${target.name}: ${counted(accounts, 'account')}, ${counted(users, 'user')}, ${countedRows(rows)},`,
    `${counted(answers, 'stored answer')}, ${counted(markers, 'deletion marker')}, ${counted(records, 'journal record')}.`,
    ...leftLines(instances + markers - written),
    ...unprovenLines(unproven),
    isContradicted ? contradictedLine(contradicted) : EQUAL,
  ];
  return { data, text: lines.join('\n'), exitCode: isContradicted ? EXIT.differs : EXIT.done };
}

const EQUAL = 'Both sides are equal, and a replay of rows and journals gives every head.';

function leftLines(found: number): string[] {
  return found > 0 ? [`An earlier run had already copied ${counted(found, 'instance')}.`] : [];
}

function unprovenLines(unproven: number): string[] {
  if (unproven === 0) return [];
  return [
    `${counted(unproven, 'instance')} could not be proven: the rows are in order, but do not suffice for a replay.`,
  ];
}

function contradictedLine(ids: readonly string[]): string {
  const some = ids.slice(0, NAMED_MAX).join(', ');
  return `Both sides are equal, but the head contradicts the rows of ${counted(ids.length, 'instance')}. Run "ctl verify" for: ${some}`;
}
