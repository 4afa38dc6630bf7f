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

for (const [what, end, status] of [
  [
    'has ended',
    async (owner: Browser, _member: string, other: Browser) => {
      await other.signIn('vera@example.com', PASSWORD);
      await other.expect(204, 'DELETE', '/sessions');
      return owner;
    },
    401,
  ],
  [
    'has another role',
    async (owner: Browser, member: string) =>
      await owner.expect(200, 'PATCH', `/members/${member}`, { role: 'billing' }),
    403,
  ],
  [
    'belongs to a removed member',
    async (owner: Browser, member: string) =>
      await owner.expect(200, 'DELETE', `/members/${member}`),
    401,
  ],
] as const) {
  ended(`${what} ends within a minute, and a new stream gets ${status}`, async () => {
    await using desk = await openConsole();
    const owner = await desk.owner();
    const id = await newInstance(owner);
    const path = `/instances/${id}/events`;
    const viewer = await desk.member(owner, 'vera@example.com', 'viewer');
    const { data } = await owner.expect(200, 'GET', '/members');
    const members = data['members'] as { id: string; email: string }[];
    const member = members.find(({ email }) => email === 'vera@example.com')?.id ?? '';
    using reader = await viewer.follow(path);
    await reader.until('state');
    await end(owner, member, desk.browser());
    await pass(desk, 60);
    await reader.rest();
    assert.is((await viewer.send('GET', path)).status, status);
  });
}

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
