-- The tables of a file. PRAGMA user_version says which version it has; each is reached in one
-- transaction. Every table's last column is the checksum of its row (checked-table.ts).

-- version 1

-- The facts of the cluster that this file holds: its id, and the number of shards of each service.
CREATE TABLE cluster_facts (
  fact TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who owns a shard. Changed only while owner and epoch are as they were read.
CREATE TABLE shards (
  service TEXT NOT NULL,
  shard INTEGER NOT NULL,
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (service, shard)
) STRICT, WITHOUT ROWID;

-- The journals, and the end of each once it is decided (decision 192).
CREATE TABLE journals (
  incarnation TEXT NOT NULL PRIMARY KEY,
  address TEXT NOT NULL,
  end_slot INTEGER,
  sealed_at_ms INTEGER,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The seals of journals, for good: a journal that is emptied stays sealed, and takes nothing any more.
CREATE TABLE seals (
  incarnation TEXT NOT NULL PRIMARY KEY,
  is_emptied INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The slots of journals: a group of records each.
CREATE TABLE journal (
  incarnation TEXT NOT NULL,
  slot INTEGER NOT NULL,
  low_water_mark INTEGER NOT NULL,
  records BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (incarnation, slot)
) STRICT;

-- The newest stored state of each instance (head-codec.ts). A table with row numbers, because rows of
-- 2 kB in the tree of a key would each take an overflow page (decision 270). The marker of a deleted
-- instance goes when it expires.
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

-- Observations, up to 32 in a row (row-codec.ts).
CREATE TABLE history (
  instance_id TEXT NOT NULL,
  last_ordinal INTEGER NOT NULL,
  chunk BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (instance_id, last_ordinal)
) STRICT, WITHOUT ROWID;

-- Drift events, as the observations.
CREATE TABLE drift (
  instance_id TEXT NOT NULL,
  last_ordinal INTEGER NOT NULL,
  chunk BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (instance_id, last_ordinal)
) STRICT, WITHOUT ROWID;

-- The answers of calls with an Idempotency-Key, for 24 h. In the order in which they came, so that
-- those that are over stand first.
CREATE TABLE answers (
  instance_id TEXT NOT NULL,
  answer_key TEXT NOT NULL,
  version INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  answer BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (instance_id, answer_key)
) STRICT;

-- The instances of an account. A removal stays for 40 days, so that nothing that comes late undoes it.
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

-- What the journal holds of an account's meter (meter-codec.ts); of one that was erased, only that.
CREATE TABLE meters (
  bucket INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state BLOB,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (bucket, account_id)
) STRICT, WITHOUT ROWID;

-- What an account has used in the last 12 months that are over (meter-codec.ts).
CREATE TABLE meter_months (
  account_id TEXT NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  version INTEGER NOT NULL,
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, ends_at_ms)
) STRICT, WITHOUT ROWID;

-- Accounts with their keys, as JSON; of one that was deleted, only its id. Changed as a whole while
-- the revision is as it was read.
CREATE TABLE accounts (
  account_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When and from where every key was used last, as of a minute. Of an account that was erased, one row
-- with an empty digest.
CREATE TABLE key_uses (
  account_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  minute INTEGER NOT NULL,
  address TEXT,
  client TEXT,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (account_id, digest)
) STRICT, WITHOUT ROWID;

-- The people who sign in, as JSON; no two have the same email. Changed while the revision is as it was
-- read.
CREATE TABLE users (
  user_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_by_email ON users (state ->> 'email');

-- The members of an account and the open links, as JSON. Changed while the revision is as it was read.
CREATE TABLE account_people (
  account_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The accounts that a user is a member of: written with account_people.
CREATE TABLE user_accounts (
  user_id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (user_id, account_id)
) STRICT, WITHOUT ROWID;

-- The sessions of a user, as JSON, for 12 h.
CREATE TABLE console_sessions (
  user_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX console_sessions_by_age ON console_sessions (created_at_ms);

-- The audit trails: a chain of lines for each account and month (decision 249).
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

-- What the payment provider said of an account, as JSON. Changed while the revision is as it was read.
CREATE TABLE billing (
  account_id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  state TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whose account a customer of the payment provider is: the first that it was seen with.
CREATE TABLE billing_customers (
  customer_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX billing_customers_by_account ON billing_customers (account_id);

-- How many rows each part of a table has, and the sum of their checksums: a row that the disk has made
-- impossible to find is missing there (checked-table.ts). Kept by triggers, in 48 bits.
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
