/*
 * Stores in one SQLite file. Adapters are imported dynamically, like all adapters (architecture 2).
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Config, ConfigError } from '#config';
import { Fault } from '#errors/fault';
import type { Foundation } from '#startup/process/dependencies';
import { bucketsIn } from '#startup/stores/actor-buckets';
import type { SharedStores } from '#startup/stores/store-set';
import { every } from '#stdlib/clock';
import type { DataFile } from '#storage/ports/data-file';
import type { DiskRoom } from '#storage/sqlite/disk-room';
import type { ObserveRequest, SqliteFile } from '#storage/sqlite/file';
import { realFile } from '#storage/sqlite/paths';
import { LogRateLimit } from '#telemetry/log-limits';

/** Default path of the data file, relative to the user's home folder. */
const STATE_FILE = join('.local', 'state', 'identity-engine', 'identity-engine.db');

/** Length for generated cluster secrets, in characters: 190 bits. */
const SECRET_LENGTH = 32;

/** Path of the configured file. */
export function sqliteFileOf({ SERVICE_SQLITE_FILE: file }: Config): string {
  return realFile(file ?? join(homedir(), STATE_FILE));
}

/** Interval between checks that a served file is at its path, in milliseconds. */
const PLACE_PERIOD_MS = 1_000;

/** Next step for an operator whose file is not at its path. */
const PLACE_STEP =
  'put the file back with its -wal, or stop the process and restore a backup (docs/runbook.md#the-file-is-not-at-its-place)';

/**
 * Maximum time that a start waits for the integrity check, in milliseconds. Enough for two hundred
 * megabytes. A longer wait would be an outage at each start: a file of two gigabytes that is not in
 * the page cache takes half a minute.
 */
const CHECK_WAIT_MS_MAX = 250;

/** Interval between deletions of expired rows, in milliseconds. */
const EXPIRY_PERIOD_MS = 60 * 60 * 1_000;

/**
 * Opens the stores in the configured file, for the serving process or for a tool that runs beside
 * it. Rejects with `ConfigError` if the file cannot be used.
 */
export async function sqliteStores(
  config: Config,
  foundation: Foundation,
): Promise<SharedStores & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const isServed = foundation.service === 'standalone';
  const { file, room } = isServed
    ? await servedFile(opening, config, foundation)
    : { file: opening.use(await openFile(config, foundation, 'tool')), room: undefined };
  const checking = isServed ? checked(file, foundation) : Promise.resolve();
  const [sound, found] = await foundation.waits.during(
    () => 'the check of the file',
    Promise.allSettled([
      usable(() => checking),
      usable(() => storesIn(file, config, foundation, isServed)),
    ]),
  );
  // For a damaged file, the integrity check has a better message than the stores.
  if (sound.status === 'rejected') throw sound.reason;
  if (found.status === 'rejected') throw found.reason;
  const stores = found.value;
  const opened = opening.move();
  return {
    ...stores,
    refusal: () => room?.refusal(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/**
 * Opens the stores in the configured file for a tool. The tool locks the file, so that no process
 * serves it. Creates a missing file. If the file has no secret, stores `secret` in the file.
 * Rejects with `ConfigError` if the file cannot be used.
 */
export async function heldFileStores(
  config: Config,
  foundation: Foundation,
  secret?: string,
): Promise<SharedStores & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const file = opening.use(await openFile(config, foundation, 'served'));
  const stores = await storesIn(file, config, foundation, true, secret);
  const opened = opening.move();
  return { ...stores, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Opens the file for serving, watches its path and disk space, and deletes expired rows. */
async function servedFile(
  opening: AsyncDisposableStack,
  config: Config,
  foundation: Foundation,
): Promise<{ file: SqliteFile; room: DiskRoom }> {
  const { DiskRoom } = await import('#storage/sqlite/disk-room');
  const { deleteExpired } = await import('#storage/sqlite/schema');
  const { requestObserver } = await import('#storage/sqlite/file');
  const { clock, logger, metrics } = foundation;
  const path = sqliteFileOf(config);
  const file = opening.use(
    await openFile(
      config,
      foundation,
      'served',
      requestObserver(metrics, { onFull: () => room.release(), onFailure: failureLog(foundation) }),
    ),
  );
  opening.use(watchPlace(file, foundation));
  const room = opening.use(
    new DiskRoom(path, clock, (notice) => logger.warn({ file: path }, notice)),
  );
  // Closing the file ends a deletion in flight. A failed start writes only its own line.
  let isClosing = false;
  const expire = () =>
    void deleteExpired(file, clock.wallMs()).catch((error: unknown) => {
      if (isClosing) return;
      logger.warn({ err: error, file: path }, 'expired rows could not be deleted');
    });
  expire();
  opening.use(every(clock, EXPIRY_PERIOD_MS, expire));
  opening.defer(() => {
    isClosing = true;
  });
  return { file, room };
}

/**
 * Returns a function that logs failures of SQLite, at most one line in 30 s per result code. Logs
 * nothing during the start, because a failed start writes its own line.
 */
function failureLog({ logger, clock, waits }: Foundation): (name: string, line: string) => void {
  const limits = new Map<string, LogRateLimit>();
  return (name, line) => {
    if (waits.lines.length > 0) return;
    const limit = limits.get(name) ?? new LogRateLimit(clock);
    limits.set(name, limit);
    limit.run((suppressed) => logger.error({ result: name, suppressed }, line));
  };
}

/** Checks every second that the file is at its path. Otherwise the process is not ready. */
function watchPlace({ place }: SqliteFile, { clock, logger, waits }: Foundation): Disposable {
  let difference: string | undefined;
  waits.neverReadyWith(() => difference);
  return every(clock, PLACE_PERIOD_MS, () => {
    const before = difference;
    difference = place?.difference();
    if (difference === before) return;
    if (difference === undefined) logger.warn('the file is at its path again: calls are answered');
    else logger.error({ why: difference }, `all changes are refused; ${PLACE_STEP}`);
  });
}

/**
 * Checks the structure of all pages. Fulfils when the check has passed, or after
 * `CHECK_WAIT_MS_MAX`. The process then serves while the check continues, and becomes not ready if
 * the check finds damage.
 */
async function checked(file: SqliteFile, { clock, logger, waits }: Foundation): Promise<void> {
  const checking = file.check();
  let isLate = false;
  let damage: string | undefined;
  waits.neverReadyWith(() => damage);
  checking.catch((error: Error) => {
    damage = error.message;
    if (isLate) logger.error(damage);
  });
  const late = Promise.withResolvers<void>();
  using _ = clock.after(CHECK_WAIT_MS_MAX, () => {
    isLate = true;
    logger.info('the file check continues while the process serves');
    late.resolve();
  });
  await Promise.race([checking, late.promise]);
}

async function storesIn(
  file: SqliteFile,
  config: Config,
  { clock, randomness }: Foundation,
  isHeld: boolean,
  secret?: string,
): Promise<SharedStores> {
  const { fixFact } = await import('#storage/sqlite/schema');
  const { sqliteAccountStore } = await import('#storage/sqlite/accounts');
  const { sqliteAuditStore } = await import('#storage/sqlite/audit');
  const { sqliteBillingStore } = await import('#storage/sqlite/audit');
  const { sqliteFeedStore } = await import('#storage/sqlite/feeds');
  const { sqliteInstanceStore } = await import('#storage/sqlite/instances');
  const { sqliteJournalStore } = await import('#storage/sqlite/journals');
  const { sqliteKeyUseStore } = await import('#storage/sqlite/accounts');
  const { sqliteListingStore } = await import('#storage/sqlite/listings');
  const { sqliteMemberStore } = await import('#storage/sqlite/people');
  const { sqliteMeterStore } = await import('#storage/sqlite/meters');
  const { sqliteSessionStore } = await import('#storage/sqlite/people');
  const { sqliteShardStore } = await import('#storage/sqlite/shards');
  const { sqliteUserStore } = await import('#storage/sqlite/people');
  const { sqliteDirtyFlag } = await import('#storage/sqlite/schema');
  const shards = sqliteShardStore(file);
  const bucketOfEngine = await bucketsIn(shards, 'engine', config);
  return {
    kind: 'shared',
    accounts: sqliteAccountStore(file, clock),
    audit: sqliteAuditStore(file),
    instances: sqliteInstanceStore(file, bucketOfEngine),
    listings: sqliteListingStore(file, clock),
    meters: sqliteMeterStore(file, await bucketsIn(shards, 'limiter', config)),
    feeds: sqliteFeedStore(file, bucketOfEngine),
    keyUses: sqliteKeyUseStore(file),
    billing: sqliteBillingStore(file),
    users: sqliteUserStore(file),
    members: sqliteMemberStore(file),
    sessions: sqliteSessionStore(file, clock),
    journals: sqliteJournalStore(file, clock, isHeld),
    shards,
    dirtyFlag: sqliteDirtyFlag(file),
    // The file has no server, so this machine's clock is used.
    serverClocks: { read: async () => [clock.wallMs()] },
    ownSecret: await fixFact(file, 'secret', secret ?? randomness.base62(SECRET_LENGTH)),
  };
}

async function openFile(
  config: Config,
  { clock }: Foundation,
  use: 'served' | 'tool',
  observe?: ObserveRequest,
): Promise<SqliteFile> {
  const { openFileOfTool, openServedFile } = await import('#storage/sqlite/open-file');
  const options = { file: sqliteFileOf(config), clock, observe };
  return await usable(() => (use === 'served' ? openServedFile(options) : openFileOfTool(options)));
}

/** Result of `open`. Rejects with `ConfigError` if the file cannot be used. */
async function usable<Opened>(open: () => Opened | Promise<Opened>): Promise<Opened> {
  const { UnusableFile } = await import('#storage/sqlite/failures');
  try {
    return await open();
  } catch (error) {
    const unusable = error instanceof Fault ? error.cause : error;
    if (!(unusable instanceof UnusableFile)) throw error;
    throw new ConfigError(`SERVICE_SQLITE_FILE: ${unusable.message}`);
  }
}

/** Configured data file, for backup, restore and vacuum. */
export async function sqliteDataFileOf(
  config: Config,
  { clock }: Pick<Foundation, 'clock'>,
): Promise<DataFile> {
  const { sqliteDataFile } = await import('#storage/sqlite/backup');
  return sqliteDataFile(sqliteFileOf(config), clock);
}

/**
 * Locks the configured file, so that no other process serves it, until disposed. Rejects with
 * `ConfigError` that names the serving process and the next step.
 */
export async function holdSqliteFile(
  config: Config,
  { clock }: Pick<Foundation, 'clock'>,
): Promise<Disposable> {
  const { holdFile } = await import('#storage/sqlite/file-lock');
  return await usable(() => holdFile(sqliteFileOf(config), clock));
}
