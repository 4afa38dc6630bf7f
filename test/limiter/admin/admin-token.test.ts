import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  adminTokenId,
  adminTokenPlaces,
  findAdminToken,
  newAdminToken,
  publishAdminToken,
  readAdminToken,
} from '#limiter/admin/token';
import { keptEnvironment } from '#test/support/kept-environment';
import { refusalOf } from '#test/support/settled';

const PORT = 8_001;

/**
 * Creates a home folder and a temporary folder, and sets HOME and TMPDIR to them until disposed.
 */
function ownFolders() {
  const root = mkdtempSync(join(tmpdir(), 'identity-engine-home-'));
  const environment = keptEnvironment();
  const home = join(root, 'home');
  const temporary = join(root, 'tmp');
  for (const folder of [home, temporary]) mkdirSync(folder);
  process.env['HOME'] = home;
  process.env['TMPDIR'] = temporary;
  return {
    home,
    temporary,
    [Symbol.dispose]() {
      environment[Symbol.dispose]();
      rmSync(root, { recursive: true });
    },
  };
}

const published = suite('the token of an admin port');

published(
  'has 43 base64url characters and differs each time, and its id has 12 hexadecimal digits',
  () => {
    const token = newAdminToken();
    assert.match(token, /^[\w-]{43}$/);
    assert.is.not(newAdminToken(), token);
    assert.match(adminTokenId(token), /^[0-9a-f]{12}$/);
  },
);

published('is in a file that only the user can read, and can be found by port', async () => {
  using folders = ownFolders();
  const token = newAdminToken();
  {
    await using place = await publishAdminToken(PORT, token);
    assert.ok(place.path.startsWith(folders.home));
    assert.is(statSync(place.path).mode & 0o777, 0o600);
    assert.is(statSync(dirname(place.path)).mode & 0o777, 0o700);
    assert.is(await findAdminToken(PORT), token);
    assert.is(await findAdminToken(PORT + 1), undefined);
    assert.equal(readdirSync(dirname(place.path)).length, 1, 'no partly written file remains');
  }
  assert.is(await findAdminToken(PORT), undefined, 'the file disappears with its process');
});

published('replaces the file of a killed process', async () => {
  using _ = ownFolders();
  await publishAdminToken(PORT, newAdminToken());
  const token = newAdminToken();
  await using _place = await publishAdminToken(PORT, token);
  assert.is(await findAdminToken(PORT), token);
});

published('is never written through a symbolic link of another user', async () => {
  using folders = ownFolders();
  const [path = ''] = adminTokenPlaces(PORT);
  const other = join(folders.temporary, 'other');
  writeFileSync(other, 'precious');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  symlinkSync(other, path);
  assert.is(await findAdminToken(PORT), undefined);
  await using _place = await publishAdminToken(PORT, newAdminToken());
  assert.is(readFileSync(other, 'utf8'), 'precious');
});

published('is in the temporary folder if the home folder is not writable', async () => {
  using folders = ownFolders();
  writeFileSync(join(folders.home, '.local'), 'no folder');
  const token = newAdminToken();
  await using place = await publishAdminToken(PORT, token);
  assert.ok(place.path.startsWith(folders.temporary));
  assert.is(await findAdminToken(PORT), token);
});

published('is never written to a folder that is open to other users, or to a link', async () => {
  using folders = ownFolders();
  writeFileSync(join(folders.home, '.local'), 'no folder');
  const [, path = ''] = adminTokenPlaces(PORT);
  const folder = dirname(path);
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  const open = await refusalOf(() => publishAdminToken(PORT, newAdminToken()));
  assert.match(open.message, /^no folder .*open to other users.*SERVICE_ADMIN_TOKEN_FILE$/);
  rmSync(folder, { recursive: true });
  const elsewhere = join(folders.temporary, 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  symlinkSync(elsewhere, folder);
  const link = await refusalOf(() => publishAdminToken(PORT, newAdminToken()));
  assert.match(link.message, /not a folder/);
});

published('is ignored if its file is open to other users', async () => {
  using _ = ownFolders();
  const place = await publishAdminToken(PORT, newAdminToken());
  chmodSync(place.path, 0o644);
  assert.is(await findAdminToken(PORT), undefined);
});

const given = suite('a token from an operator');

given('is read, even through links and with a line end', async () => {
  using folders = ownFolders();
  const path = join(folders.home, 'data');
  const link = join(folders.home, 'token');
  const token = newAdminToken();
  writeFileSync(path, `${token}\r\n`, { mode: 0o640 });
  symlinkSync(path, link);
  assert.is(await readAdminToken(link), token);
});

for (const [what, text, mode, complaint] of [
  ['can be read by all users', 'x'.repeat(40), 0o644, /open to every user/],
  ['is too short', 'x'.repeat(31), 0o600, /contains no valid token/],
  ['is too long', 'x'.repeat(513), 0o600, /contains no valid token/],
  ['has a space', `${'x'.repeat(20)} ${'x'.repeat(20)}`, 0o600, /contains no valid token/],
  ['is empty', '', 0o600, /contains no valid token/],
] as const) {
  given(`is refused if it ${what}`, async () => {
    using folders = ownFolders();
    const path = join(folders.home, 'token');
    writeFileSync(path, text);
    chmodSync(path, mode);
    const refusal = await refusalOf(() => readAdminToken(path));
    assert.match(refusal.message, complaint);
    assert.not.match(refusal.message, /xxx|\n/);
  });
}

given('is refused if its file is missing', async () => {
  const refusal = await refusalOf(() => readAdminToken('/nowhere/token'));
  assert.is(refusal.message, '/nowhere/token cannot be read (ENOENT)');
});

published.run();
given.run();
