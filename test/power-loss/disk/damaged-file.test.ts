import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { openStores } from '#startup/ports';
import { foundationOf } from '#startup/process/dependencies';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { Chance } from '#test/chaos/faults/chance';
import { type LoadedFile, loadedFile } from '#test/power-loss/loaded-file';
import { fileVariables, ServiceOnFile } from '#test/power-loss/service-on-file';
import { changedFacts, type Facts, REFUSED, readFacts } from '#test/power-loss/stored-facts';

const PAGE_BYTES = 4_096;

/** Bytes at the start of a page that contain the header and the cell offsets of SQLite. */
const PAGE_HEAD_BYTES = 150;

/** Number of bits to flip per page, each in a separate file. `FLIPS=6` tests more bits. */
const FLIPS = Number(process.env['FLIPS'] ?? 1);

/** Offset of the cell count in a page. A smaller count hides the last rows. */
const CELL_COUNT_BYTE = 4;

/**
 * Tables in which a smaller cell count hides rows. The service detects the missing rows; SQLite
 * does not.
 */
const ROW_TABLES = ['history', 'drift'];

/** Files checked at the same time. */
const AT_ONCE = 2;

/**
 * Facts that a flipped bit may hide: keyed answers, if the bit is in an index. The service then
 * processes a repeated call of the same day again.
 */
const HIDDEN = /^answer /;

const flipped = suite('a damaged SQLite file');
const lost = suite('a WAL with a flipped bit before the last commit');

let place = '';
let loaded: LoadedFile;
let stored: Facts;

flipped.before(async () => {
  place = await mkdtemp(join(tmpdir(), 'damaged-'));
  loaded = await loadedFile(join(place, 'loaded'), 'stop');
  stored = await factsIn(loaded.file);
});

lost.after(async () => {
  await rm(place, { recursive: true, force: true });
});

/** Reads all facts from a file through the stores. */
async function factsIn(file: string): Promise<Facts> {
  const config = readConfig({ ...fileVariables(file), SERVICE_LOG_LEVEL: 'silent' });
  await using stores = await openStores(config, foundationOf(config, 'power-loss'));
  const accounts = loaded.accounts.map(({ accountId }) => accountId);
  return await readFacts(stores, { accounts, calls: loaded.calls });
}

/**
 * Results of reading damaged files: wrong facts, number of files with a refused read, number of
 * files without an effect, and errors of files that did not open.
 */
type Seen = { wrong: string[]; refused: number; harmless: number; unopened: string[] };

/** Reads all facts from a file with these bytes, and adds the result to `seen`. */
async function lookAt(bytes: Buffer, what: string, seen: Seen): Promise<void> {
  const folder = await mkdtemp(join(place, 'copy-'));
  const file = join(folder, 'identity.db');
  await writeFile(file, bytes);
  try {
    const found = await factsIn(file);
    const wrong = changedFacts(found, stored);
    seen.wrong.push(...wrong.map((fact) => `${what}: ${fact}`));
    const isRefused = [...found.values()].includes(REFUSED);
    if (isRefused) seen.refused += 1;
    else if (wrong.length === 0) seen.harmless += 1;
  } catch (error) {
    seen.unopened.push(error instanceof Error ? error.message : String(error));
  }
  await rm(folder, { recursive: true });
}

/** Numbers of the pages that contain rows of a table, starting at 0. */
function pagesOf(file: string, table: string): number[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const pages = database.prepare('SELECT pageno FROM dbstat WHERE name = ? AND ncell > 0');
  return pages.all(table).map(({ pageno }) => Number(pageno) - 1);
}

flipped('with one flipped bit returns the stored values or refuses the read', async () => {
  assert.ok(stored.size > 50 && ![...stored.values()].includes(REFUSED), 'too few facts');
  const bytes = await readFile(loaded.file);
  const chance = new Chance(7);
  const pages = Array.from({ length: bytes.length / PAGE_BYTES }, (_, page) => page);
  const flips = pages.flatMap((page) =>
    Array.from({ length: FLIPS }, () => {
      const within = chance.happens(0.5) ? PAGE_HEAD_BYTES : PAGE_BYTES;
      return { at: page * PAGE_BYTES + chance.below(within), bit: chance.below(8) };
    }),
  );
  for (const table of ROW_TABLES) {
    const pagesOfRows = pagesOf(loaded.file, table);
    assert.ok(pagesOfRows.length > 0, `the table ${table} has no rows`);
    for (const page of pagesOfRows) {
      const at = page * PAGE_BYTES + CELL_COUNT_BYTE;
      flips.push(...Array.from({ length: 8 }, (_, bit) => ({ at, bit })));
    }
  }
  const seen: Seen = { wrong: [], refused: 0, harmless: 0, unopened: [] };
  await forEachConcurrently(flips, AT_ONCE, async ({ at, bit }) => {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
    await lookAt(changed, `page ${1 + Math.floor(at / PAGE_BYTES)}, byte ${at % PAGE_BYTES}`, seen);
  });
  const hidden = seen.wrong.filter((line) => HIDDEN.test(line.replace(/^.*?: /, '')));
  assert.equal(
    seen.wrong.filter((line) => !hidden.includes(line)),
    [],
  );
  const hiding = new Set(hidden.map((line) => line.replace(/: .*/, '')));
  assert.ok(hiding.size <= flips.length / 10, hidden.join('\n'));
  assert.ok(seen.refused > 0, 'no read was refused');
  for (const line of seen.unopened) assert.match(line, /^SERVICE_SQLITE_FILE: [^\n]+$/, line);
});

flipped('that was truncated is refused at the start', async () => {
  const bytes = await readFile(loaded.file);
  const seen: Seen = { wrong: [], refused: 0, harmless: 0, unopened: [] };
  const lengths = [1, 50, 100, 4_095, 4_096, 8_192, bytes.length / 2, bytes.length - 1];
  for (const length of lengths) {
    await lookAt(bytes.subarray(0, length), `${length} bytes`, seen);
  }
  assert.equal(seen.wrong, []);
  assert.is(seen.unopened.length, lengths.length, JSON.stringify(seen));
});

/** Starts the service on a file that it must refuse. Returns its error output. */
async function refusalOf(file: string): Promise<string> {
  await using life = (await ServiceOnFile.on(file)).start();
  await life.ready.catch(() => undefined);
  assert.is(life.run.child.exitCode, 1, `the service started: ${life.run.stdout()}`);
  return life.run.stderr();
}

lost('is refused at the start with a message of one line', async () => {
  const killed = await loadedFile(join(place, 'killed'), 'kill');
  const wal = await readFile(`${killed.file}-wal`);
  const chance = new Chance(9);
  for (let left = 3; left > 0; left -= 1) {
    const folder = await mkdtemp(join(place, 'copy-'));
    const file = join(folder, 'identity.db');
    await cp(killed.file, file);
    const at = chance.below(wal.length / 2);
    const changed = Buffer.from(wal);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    await writeFile(`${file}-wal`, changed);
    assert.match(await refusalOf(file), /^configuration: [^\n]+-wal is damaged[^\n]+\n$/, `${at}`);
  }
});

flipped.run();
lost.run();
