/*
 * The stores in one SQLite file. Adapters are imported dynamically, as all are (architecture 2).
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Config, ConfigError } from '#config';
import { bucketsIn } from '#process/actor-buckets';
import type { Foundation } from '#process/foundation';
import type { SharedStores } from '#process/stores';
import type { SqliteFile } from '#storage/sqlite/sqlite-file';

/** Where data is kept, from the user's home folder on, unless the configuration names a file. */
const STATE_FILE = join('.local', 'state', 'identity-engine', 'identity-engine.db');

/** Characters of the secret that is made with a file: 190 bits. */
const SECRET_LENGTH = 32;

/** The file of a configuration. */
export function sqliteFileOf({ SERVICE_SQLITE_FILE: file }: Config): string {
  return file ?? join(homedir(), STATE_FILE);
}

/**
 * Opens the stores in the configured file: of the one process that serves it, or beside that for a tool.
 * Rejects with `ConfigError` when the file cannot be used.
 */
export async function sqliteStores(
  config: Config,
  foundation: Foundation,
): Promise<SharedStores & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const file = opening.use(await openFile(config, foundation));
  const { clock, randomness, logger } = foundation;
  const { sqliteInstanceStore } = await import('#storage/sqlite/sqlite-instance-store');
  const { sqliteJournalStore } = await import('#storage/sqlite/sqlite-journal-store');
  const { sqliteShardStore } = await import('#storage/sqlite/sqlite-shard-store');
  const { sqliteAccountStore } = await import('#storage/sqlite/sqlite-account-store');
  const { sqliteAuditStore } = await import('#storage/sqlite/sqlite-audit-store');
  const { sqliteBillingStore } = await import('#storage/sqlite/sqlite-billing-store');
  const { sqliteKeyUseStore } = await import('#storage/sqlite/sqlite-key-use-store');
  const { sqliteListingStore } = await import('#storage/sqlite/sqlite-listing-store');
  const { sqliteMeterStore } = await import('#storage/sqlite/sqlite-meter-store');
  const { sqliteMemberStore } = await import('#storage/sqlite/sqlite-member-store');
  const { sqliteSessionStore } = await import('#storage/sqlite/sqlite-session-store');
  const { sqliteUserStore } = await import('#storage/sqlite/sqlite-user-store');
  const { DiskRoom } = await import('#storage/sqlite/disk-room');
  const notice = (text: string) => logger.warn(text);
  const room = isServed(foundation)
    ? opening.use(new DiskRoom(sqliteFileOf(config), clock, notice))
    : undefined;
  const { fixFact } = await import('#storage/sqlite/facts');
  const shards = sqliteShardStore(file);
  const stores: SharedStores = {
    kind: 'shared',
    accounts: sqliteAccountStore(file, clock),
    audit: sqliteAuditStore(file),
    instances: sqliteInstanceStore(file, await bucketsIn(shards, 'engine', config)),
    listings: sqliteListingStore(file, clock),
    meters: sqliteMeterStore(file, await bucketsIn(shards, 'limiter', config)),
    keyUses: sqliteKeyUseStore(file),
    billing: sqliteBillingStore(file),
    users: sqliteUserStore(file),
    members: sqliteMemberStore(file),
    sessions: sqliteSessionStore(file, clock),
    journals: sqliteJournalStore(file, clock, isServed(foundation)),
    shards,
    // The file has no clock but this machine's.
    serverClocks: { read: async () => [clock.wallMs()] },
    refusal: () => room?.refusal(),
    ownSecret: await fixFact(file, 'secret', randomness.base62(SECRET_LENGTH)),
  };
  const opened = opening.move();
  return { ...stores, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function openFile(config: Config, { service, clock }: Foundation): Promise<SqliteFile> {
  const { openFileOfTool, openServedFile } = await import('#storage/sqlite/open-file');
  const { UnusableFile } = await import('#storage/sqlite/unusable-file');
  const options = { file: sqliteFileOf(config), clock };
  try {
    return isServed({ service }) ? openServedFile(options) : openFileOfTool(options);
  } catch (error) {
    if (error instanceof UnusableFile)
      throw new ConfigError(`SERVICE_SQLITE_FILE: ${error.message}`);
    throw error;
  }
}

/** Whether this process serves the file; else it is a tool that looks at it. */
function isServed({ service }: Pick<Foundation, 'service'>): boolean {
  return service === 'standalone';
}
