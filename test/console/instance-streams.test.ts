import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Browser } from '#test/console/browser';
import {
  OTHER_ACCOUNT_ID,
  openConsole,
  PASSWORD,
  type TestConsole,
} from '#test/console/console-fixture';
import type { EventReader } from '#test/support/calls/event-reader';
import { turnOfEvents } from '#test/support/settled';

const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.7 };

async function newInstance(browser: Browser): Promise<string> {
  return String((await browser.expect(201, 'POST', '/instances', { name: 'Iris' })).data['id']);
}

/** Processes an observation, a second after the previous one. */
async function observe({ clock }: TestConsole, browser: Browser, id: string): Promise<void> {
  clock.advance(1_000);
  await browser.expect(200, 'POST', `/instances/${id}/process`, OBSERVATION);
}

/** Advances the clock second by second, and runs due work. */
async function pass({ clock }: TestConsole, seconds: number): Promise<void> {
  for (let s = 0; s < seconds; s += 1) {
    clock.advance(1_000);
    await turnOfEvents();
  }
}

/** Reads the cycles of a stream to its end. */
async function cyclesOf(reader: EventReader): Promise<(number | undefined)[]> {
  const events = await reader.rest();
  return events.filter(({ event }) => event === 'cycle').map(({ id }) => id);
}

const live = suite('an event stream in the console');

live('starts with the state, sends each cycle, and has the security headers', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  using reader = await owner.follow(`/instances/${id}/events`);
  assert.is(reader.status, 200);
  assert.is(reader.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.match(reader.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
  await reader.until('state');
  await observe(desk, owner, id);
  const [cycle] = await reader.until('cycle');
  assert.is(cycle?.id, 1);
});

live('ends within a minute; a page that reconnects gets the missed events', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  using reader = await owner.follow(`/instances/${id}/events`);
  await observe(desk, owner, id);
  await reader.until('cycle');
  await pass(desk, 60);
  const last = (await reader.rest()).at(-1);
  assert.is(last?.retryMs, 100);
  for (let n = 0; n < 3; n += 1) await observe(desk, owner, id);
  using next = await owner.follow(`/instances/${id}/events`, { 'last-event-id': '1' });
  await pass(desk, 60);
  assert.equal(await cyclesOf(next), [2, 3, 4]);
});

live('of a viewer shows the changes of other members', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  const viewer = await desk.member(owner, 'vera@example.com', 'viewer');
  using reader = await viewer.follow(`/instances/${id}/events`);
  await reader.until('state');
  await observe(desk, owner, id);
  assert.is((await reader.until('cycle')).at(-1)?.id, 1);
});

live('is 404 for another account’s instance, and 403 for a role without instances', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  const stranger = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  const billing = await desk.member(owner, 'bill@example.com', 'billing');
  assert.is((await stranger.send('GET', `/instances/${id}/events`)).status, 404);
  assert.is((await billing.send('GET', `/instances/${id}/events`)).status, 403);
  assert.is((await desk.browser().send('GET', `/instances/${id}/events`)).status, 401);
});

live('is refused beyond twenty streams of a session, but not in other sessions', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  const path = `/instances/${id}/events`;
  using open = new DisposableStack();
  for (let n = 0; n < 20; n += 1) open.use(await owner.follow(path));
  const refused = await owner.send('GET', path);
  assert.equal([refused.status, refused.reason], [429, 'too_many_streams']);
  const elsewhere = desk.browser();
  await elsewhere.signIn('ada@example.com', PASSWORD);
  assert.is(open.use(await elsewhere.follow(path)).status, 200);
});

const ended = suite('an event stream of a session that');

/** Ways in which the viewer Vera loses rights, and the status of a new stream. */
const ENDS = [
  [
    'was signed out in another tab',
    async ({ viewer }: Scene) => await viewer.expect(204, 'POST', '/sign-out', {}),
    401,
  ],
  [
    'was ended in another browser',
    async ({ other }: Scene) => {
      await other.signIn('vera@example.com', PASSWORD);
      await other.expect(204, 'DELETE', '/sessions');
    },
    401,
  ],
  [
    'has a password that was changed in another browser',
    async ({ other }: Scene) => {
      await other.signIn('vera@example.com', PASSWORD);
      const body = { password: PASSWORD, new_password: 'another fine and private place' };
      await other.expect(204, 'PUT', '/password', body);
    },
    401,
  ],
  [
    'has another role',
    async ({ owner, member }: Scene) =>
      await owner.expect(200, 'PATCH', `/members/${member}`, { role: 'billing' }),
    403,
  ],
  [
    'belongs to a removed member',
    async ({ owner, member }: Scene) => await owner.expect(200, 'DELETE', `/members/${member}`),
    401,
  ],
] as const;

/** An owner and a viewer; `other` is a second browser of the viewer. */
type Scene = {
  readonly owner: Browser;
  readonly viewer: Browser;
  readonly other: Browser;
  /** User id of the viewer. */
  readonly member: string;
};

/** A scene with an open stream of the viewer, at another console than the changes. */
async function openScene(desk: TestConsole, elsewhere: TestConsole) {
  const owner = await desk.owner();
  const path = `/instances/${await newInstance(owner)}/events`;
  const viewer = await desk.member(owner, 'vera@example.com', 'viewer');
  const { data: me } = await viewer.expect(200, 'GET', '/me');
  const scene = { owner, viewer, other: desk.browser(), member: (me['user'] as { id: string }).id };
  const tab = elsewhere.browser();
  for (const [name, value] of viewer.cookies) tab.cookies.set(name, value);
  const reader = await tab.follow(path);
  await reader.until('state');
  return { scene, tab, path, reader };
}

// A stream outlived its session or membership by up to a minute.
for (const [what, end, status] of ENDS) {
  ended(`${what} ends at once in every console, and a new stream gets ${status}`, async () => {
    await using desk = await openConsole();
    await using elsewhere = await openConsole({}, desk.ports);
    const { scene, tab, path, reader } = await openScene(desk, elsewhere);
    using _ = reader;
    await end(scene);
    // Delivers the announcement. No stream reaches its maximum age.
    desk.clock.advance(1);
    const last = (await reader.rest()).at(-1);
    assert.ok(last?.retryMs !== undefined && last.retryMs >= 1_100, 'the change arrives first');
    assert.is((await tab.send('GET', path)).status, status);
  });
}

ended('lasts ends without news within a minute', async () => {
  await using desk = await openConsole({}, { accountNews: undefined });
  const { scene, tab, path, reader } = await openScene(desk, desk);
  using _ = reader;
  await scene.owner.expect(200, 'DELETE', `/members/${scene.member}`);
  await pass(desk, 60);
  await reader.rest();
  assert.is((await tab.send('GET', path)).status, 401);
});

ended('keeps its rights goes on when another member leaves', async () => {
  await using desk = await openConsole();
  const { scene, path, reader } = await openScene(desk, desk);
  using _ = reader;
  using own = await scene.owner.follow(path);
  await own.until('state');
  await scene.owner.expect(200, 'DELETE', `/members/${scene.member}`);
  desk.clock.advance(1);
  await observe(desk, scene.owner, path.split('/')[2] ?? '');
  assert.is((await own.until('cycle')).at(-1)?.id, 1);
});

live('does not prevent its session from becoming idle', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  let status = 200;
  let minutes = 0;
  for (; status === 200 && minutes < 40; minutes += 1) {
    using reader = await owner.follow(`/instances/${id}/events`);
    status = reader.status;
    // Unattended requests of a page do not keep the session active either.
    const look = { 'x-unattended': 'true' };
    await owner.send('GET', `/instances/${id}`, undefined, look);
    if (status === 200) await pass(desk, 60);
  }
  assert.equal([status, minutes], [401, 31]);
});

const closing = suite('a console that closes');

closing('ends its streams and waits for none of them', async () => {
  const desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  using reader = await owner.follow(`/instances/${id}/events`);
  await reader.until('state');
  await desk[Symbol.asyncDispose]();
  await reader.rest();
});

for (const each of [live, ended, closing]) each.run();
