-- Tables of a data file. PRAGMA user_version is their version; each version is reached in one
-- transaction. The last column of every table is the checksum of the row (tables.ts).

-- version 1

-- Facts of the cluster: its id, and the shard count per service.
CREATE TABLE cluster_facts (
  fact TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Owners of shards. Changed by compare-and-set of owner and epoch.
CREATE TABLE shards (
  service TEXT NOT NULL,
  shard INTEGER NOT NULL,
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (service, shard)
) STRICT, WITHOUT ROWID;

-- Journals, each with its end once the end is decided (decision 192).
CREATE TABLE journals (
  incarnation TEXT NOT NULL PRIMARY KEY,
  address TEXT NOT NULL,
  end_slot INTEGER,
  sealed_at_ms INTEGER,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Seals of journals. A seal is permanent: an emptied journal stays sealed and accepts no slot.
CREATE TABLE seals (
  incarnation TEXT NOT NULL PRIMARY KEY,
  is_emptied INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Slots of journals, each with a group of records.
CREATE TABLE journal (
  incarnation TEXT NOT NULL,
  slot INTEGER NOT NULL,
  low_water_mark INTEGER NOT NULL,
  records BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (incarnation, slot)
) STRICT;

-- Newest stored state of each instance (ports/head-codec.ts). A table with row numbers: without
-- them, rows of 2 kB would each take an overflow page in the tree of a key (decision 270). The
-- marker of a deleted instance is deleted when it expires.
CREATE TABLE heads (
  bucket INTEGER NOT NULL,
  instance_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  expires_at_ms INTEGER,
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (bucket, instance_id)
) STRICT;
CREATE INDEX heads_by_end ON heads (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

-- Observations, up to 32 per row (ports/chunks.ts).
CREATE TABLE history (
  instance_id TEXT NOT NULL,
  last_ordinal INTEGER NOT NULL,
  chunk BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (instance_id, last_ordinal)
) STRICT, WITHOUT ROWID;

-- Drift events, stored like observations.
CREATE TABLE drift (
  instance_id TEXT NOT NULL,
  last_ordinal INTEGER NOT NULL,
  chunk BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (instance_id, last_ordinal)
) STRICT, WITHOUT ROWID;

-- Answers to calls with an Idempotency-Key, for 24 h. Stored in the order of arrival, so that the
-- first rows expire first.
CREATE TABLE answers (
  instance_id TEXT NOT NULL,
  answer_key TEXT NOT NULL,
  version INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  answer BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (instance_id, answer_key)
) STRICT;

-- Instances of an account. A removal is kept for 40 days, so that no late write reverts it.
CREATE TABLE listings (
  account_id TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  removed_at_ms INTEGER,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, instance_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX listings_by_removal ON listings (removed_at_ms) WHERE removed_at_ms IS NOT NULL;

-- Durable state of an account's meter (ports/meter-codec.ts). An erased meter leaves a row without
-- a state.
CREATE TABLE meters (
  bucket INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state BLOB,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (bucket, account_id)
) STRICT, WITHOUT ROWID;

-- Usage of an account in the last 12 finished months (ports/meter-codec.ts).
CREATE TABLE meter_months (
  account_id TEXT NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  version INTEGER NOT NULL,
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, ends_at_ms)
) STRICT, WITHOUT ROWID;

-- Accounts with their keys, as JSON. A deleted account leaves only its id. Changed as a whole under
-- an optimistic lock on the revision.
CREATE TABLE accounts (
  account_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Last use of every key: the minute and the caller. An erased account leaves a row with an empty
-- digest.
CREATE TABLE key_uses (
  account_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  minute INTEGER NOT NULL,
  address TEXT,
  client TEXT,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, digest)
) STRICT, WITHOUT ROWID;

-- Users, as JSON. Emails are unique. Changed under an optimistic lock on the revision.
CREATE TABLE users (
  user_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_by_email ON users (state ->> 'email');

-- Members and open links of an account, as JSON. Changed under an optimistic lock on the revision.
CREATE TABLE account_people (
  account_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Accounts in which a user is a member. Written together with account_people.
CREATE TABLE user_accounts (
  user_id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (user_id, account_id)
) STRICT, WITHOUT ROWID;

-- Sessions of a user, as JSON, for 12 h.
CREATE TABLE console_sessions (
  user_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX console_sessions_by_age ON console_sessions (created_at_ms);

-- Audit trails: a chain of lines per account and month (decision 249).
CREATE TABLE audit (
  account_id TEXT NOT NULL,
  month TEXT NOT NULL,
  seq INTEGER NOT NULL,
  line TEXT NOT NULL,
  line_hash TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, month, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_months ON audit (account_id, month) WHERE seq = 1;

-- Reports of the payment provider on an account, as JSON. Changed under an optimistic lock on the
-- revision.
CREATE TABLE billing (
  account_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Account of a customer of the payment provider: the account with which it was first stored.
CREATE TABLE billing_customers (
  customer_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX billing_customers_by_account ON billing_customers (account_id);

-- Row count and checksum total of each part of a table, which detect a row that damage has made
-- impossible to find (tables.ts). Updated by triggers, modulo 2^48.
CREATE TABLE sums (
  name TEXT NOT NULL,
  part ANY NOT NULL,
  rows INTEGER NOT NULL,
  total INTEGER NOT NULL,
  PRIMARY KEY (name, part)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER cluster_facts_inserted AFTER INSERT ON cluster_facts BEGIN INSERT INTO sums VALUES ('cluster_facts', 0, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER cluster_facts_updated AFTER UPDATE ON cluster_facts BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'cluster_facts' AND part = 0; END;
CREATE TRIGGER cluster_facts_deleted AFTER DELETE ON cluster_facts BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'cluster_facts' AND part = 0; END;
CREATE TRIGGER shards_inserted AFTER INSERT ON shards BEGIN INSERT INTO sums VALUES ('shards', 0, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER shards_updated AFTER UPDATE ON shards BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'shards' AND part = 0; END;
CREATE TRIGGER shards_deleted AFTER DELETE ON shards BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'shards' AND part = 0; END;
CREATE TRIGGER journals_inserted AFTER INSERT ON journals BEGIN INSERT INTO sums VALUES ('journals', 0, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER journals_updated AFTER UPDATE ON journals BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'journals' AND part = 0; END;
CREATE TRIGGER journals_deleted AFTER DELETE ON journals BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'journals' AND part = 0; END;
CREATE TRIGGER heads_inserted AFTER INSERT ON heads BEGIN INSERT INTO sums VALUES ('heads', new.bucket, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER heads_updated AFTER UPDATE ON heads BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'heads' AND part = old.bucket; END;
CREATE TRIGGER heads_deleted AFTER DELETE ON heads BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'heads' AND part = old.bucket; END;
CREATE TRIGGER listings_inserted AFTER INSERT ON listings BEGIN INSERT INTO sums VALUES ('listings', new.account_id, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER listings_updated AFTER UPDATE ON listings BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'listings' AND part = old.account_id; END;
CREATE TRIGGER listings_deleted AFTER DELETE ON listings BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'listings' AND part = old.account_id; END;
CREATE TRIGGER meters_inserted AFTER INSERT ON meters BEGIN INSERT INTO sums VALUES ('meters', new.bucket, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER meters_updated AFTER UPDATE ON meters BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'meters' AND part = old.bucket; END;
CREATE TRIGGER meters_deleted AFTER DELETE ON meters BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'meters' AND part = old.bucket; END;
CREATE TRIGGER accounts_inserted AFTER INSERT ON accounts BEGIN INSERT INTO sums VALUES ('accounts', 0, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER accounts_updated AFTER UPDATE ON accounts BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'accounts' AND part = 0; END;
CREATE TRIGGER accounts_deleted AFTER DELETE ON accounts BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'accounts' AND part = 0; END;
CREATE TRIGGER users_inserted AFTER INSERT ON users BEGIN INSERT INTO sums VALUES ('users', 0, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER users_updated AFTER UPDATE ON users BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'users' AND part = 0; END;
CREATE TRIGGER users_deleted AFTER DELETE ON users BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'users' AND part = 0; END;
CREATE TRIGGER account_people_inserted AFTER INSERT ON account_people BEGIN INSERT INTO sums VALUES ('account_people', 0, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER account_people_updated AFTER UPDATE ON account_people BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'account_people' AND part = 0; END;
CREATE TRIGGER account_people_deleted AFTER DELETE ON account_people BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'account_people' AND part = 0; END;
CREATE TRIGGER billing_inserted AFTER INSERT ON billing BEGIN INSERT INTO sums VALUES ('billing', 0, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER billing_updated AFTER UPDATE ON billing BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'billing' AND part = 0; END;
CREATE TRIGGER billing_deleted AFTER DELETE ON billing BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'billing' AND part = 0; END;

-- version 2

-- Feed of an account: the newest rows, and the numbers of the chunks before the rows
-- (ports/feed-codec.ts). An erased feed leaves a row without a state. A table with row numbers,
-- like heads.
CREATE TABLE feeds (
  bucket INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state BLOB,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (bucket, account_id)
) STRICT;

-- Rows of a feed, 256 per chunk (ports/feed-codec.ts). Chunks below the floor of the head are
-- deleted.
CREATE TABLE feed_chunks (
  account_id TEXT NOT NULL,
  chunk INTEGER NOT NULL,
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, chunk)
) STRICT;

-- Accounts whose feeds have or had webhook endpoints. An erased feed is not listed.
CREATE TABLE webhook_accounts (
  bucket INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (bucket, account_id)
) STRICT;

CREATE TRIGGER webhook_accounts_inserted AFTER INSERT ON webhook_accounts BEGIN INSERT INTO sums VALUES ('webhook_accounts', new.bucket, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER webhook_accounts_updated AFTER UPDATE ON webhook_accounts BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'webhook_accounts' AND part = old.bucket; END;
CREATE TRIGGER webhook_accounts_deleted AFTER DELETE ON webhook_accounts BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'webhook_accounts' AND part = old.bucket; END;

CREATE TRIGGER feeds_inserted AFTER INSERT ON feeds BEGIN INSERT INTO sums VALUES ('feeds', new.bucket, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER feeds_updated AFTER UPDATE ON feeds BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'feeds' AND part = old.bucket; END;
CREATE TRIGGER feeds_deleted AFTER DELETE ON feeds BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'feeds' AND part = old.bucket; END;
CREATE TRIGGER feed_chunks_inserted AFTER INSERT ON feed_chunks BEGIN INSERT INTO sums VALUES ('feed_chunks', new.account_id, 1, new.checksum) ON CONFLICT DO UPDATE SET rows = rows + 1, total = (total + excluded.total) & 0xffffffffffff; END;
CREATE TRIGGER feed_chunks_updated AFTER UPDATE ON feed_chunks BEGIN UPDATE sums SET total = (total + new.checksum - old.checksum) & 0xffffffffffff WHERE name = 'feed_chunks' AND part = old.account_id; END;
CREATE TRIGGER feed_chunks_deleted AFTER DELETE ON feed_chunks BEGIN UPDATE sums SET rows = rows - 1, total = (total - old.checksum) & 0xffffffffffff WHERE name = 'feed_chunks' AND part = old.account_id; END;

-- Sparse past states of an instance, by position (decision 318).
CREATE TABLE states (
  instance_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  cycle INTEGER NOT NULL,
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (instance_id, generation, cycle)
) STRICT, WITHOUT ROWID;

-- Stored index of an account, in 256 parts (engine/directory/fleet-parts.ts).
CREATE TABLE index_parts (
  account_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, part)
) STRICT;

-- version 3

-- Order of creation, for pages that are read before the whole listing is loaded.
CREATE INDEX listings_by_creation ON listings (account_id, created_at_ms, instance_id) WHERE removed_at_ms IS NULL;

-- Number of removed rows of each account. The rows of an account less these rows are its instances.
INSERT INTO sums SELECT 'removed_listings', account_id, count(*), 0 FROM listings WHERE removed_at_ms IS NOT NULL GROUP BY account_id;

CREATE TRIGGER removed_listings_inserted AFTER INSERT ON listings WHEN new.removed_at_ms IS NOT NULL BEGIN INSERT INTO sums VALUES ('removed_listings', new.account_id, 1, 0) ON CONFLICT DO UPDATE SET rows = rows + 1; END;
CREATE TRIGGER removed_listings_updated AFTER UPDATE ON listings WHEN (old.removed_at_ms IS NULL) <> (new.removed_at_ms IS NULL) BEGIN INSERT INTO sums VALUES ('removed_listings', new.account_id, iif(new.removed_at_ms IS NULL, -1, 1), 0) ON CONFLICT DO UPDATE SET rows = rows + excluded.rows; END;
CREATE TRIGGER removed_listings_deleted AFTER DELETE ON listings WHEN old.removed_at_ms IS NOT NULL BEGIN UPDATE sums SET rows = rows - 1 WHERE name = 'removed_listings' AND part = old.account_id; END;
