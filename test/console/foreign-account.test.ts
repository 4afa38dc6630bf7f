import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { consoleRoutes } from '#console/app/app';
import { unchanging } from '#stdlib/files';
import type { Browser } from '#test/console/browser';
import { OTHER_ACCOUNT_ID, openConsole, type TestConsole } from '#test/console/console-fixture';

/** Names that exist only in the other account. */
const MARKS = [
  'bob@example.com',
  'carol@example.com',
  'dan@example.com',
  'the key of bob',
  'the agent of bob',
];

/** Ids of objects of the other account, by kind of object. */
type Foreign = Readonly<Record<'member' | 'invitation' | 'session' | 'key', string>>;

const idIn = (value: unknown): string => String((value as { id: string }).id);

async function otherAccount(desk: TestConsole): Promise<Foreign> {
  const bob = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  const carol = await desk.member(bob, 'carol@example.com', 'developer');
  const invite = { email: 'dan@example.com', role: 'viewer' };
  const { data: invited } = await bob.expect(201, 'POST', '/members/invitations', invite);
  const wanted = { name: 'the key of bob', scope: 'full' };
  const { data: made } = await bob.expect(201, 'POST', '/keys', wanted);
  // Usage by instance contains names of instances.
  const agent = await bob.expect(201, 'POST', '/instances', { name: 'the agent of bob' });
  const observed = { mode_target: 'ORDER', signal_strength: 0.7 };
  await bob.expect(200, 'POST', `/instances/${idIn(agent.data)}/process`, observed);
  const { data: me } = await carol.expect(200, 'GET', '/me');
  return {
    member: idIn(me['user']),
    session: idIn(me['session']),
    invitation: idIn(invited),
    key: idIn(made),
  };
}

/** Kind of the foreign id, and a valid body, for each route with an id. */
const WITH_IDS: Readonly<Record<string, readonly [keyof Foreign, object]>> = {
  'PATCH /members/:id': ['member', { role: 'owner' }],
  'DELETE /members/:id': ['member', {}],
  'DELETE /members/invitations/:id': ['invitation', {}],
  'DELETE /sessions/:id': ['session', {}],
  'PATCH /keys/:id': ['key', { name: 'mine now' }],
  'DELETE /keys/:id': ['key', {}],
  'PUT /keys/:id/scope': ['key', { scope: 'read' }],
  'POST /keys/:id/rotate': ['key', { grace_seconds: 0 }],
  'POST /keys/:id/disable': ['key', {}],
  'POST /keys/:id/enable': ['key', {}],
};

/** Names in the usage report that the other account sees. */
async function named(desk: TestConsole): Promise<string[]> {
  const bob = desk.browser();
  await bob.signIn('bob@example.com', 'a fine and private place', OTHER_ACCOUNT_ID);
  const { data } = await bob.expect(200, 'GET', '/usage/instances');
  return (data['instances'] as { name: string }[]).map(({ name }) => name);
}

/** All routes of the console, except instance routes, which have separate tests. */
function routesOf(desk: TestConsole) {
  const config = {
    origin: undefined,
    trustedProxies: [],
    secrets: undefined,
    clusterSecrets: unchanging(['a secret']),
  };
  const setting = { cookies: {} as never, live: {} as never, origin: () => desk.origin };
  const routes = consoleRoutes({ ...config, localAccountId: undefined }, desk.ports, setting);
  return routes.filter(({ path }) => !path.startsWith('/instances'));
}

const foreign = suite('the data of another account');

foreign('is answered on every route like data that never existed', async () => {
  await using desk = await openConsole();
  const theirs = await otherAccount(desk);
  const ada = await desk.owner();
  const withIds = routesOf(desk).filter(({ path }) => path.includes(':'));
  const names = withIds.map(({ method, path }) => `${method} ${path}`);
  assert.equal(names.toSorted(), Object.keys(WITH_IDS).toSorted(), 'every route has its row');
  for (const { method, path } of withIds) {
    const row = WITH_IDS[`${method} ${path}`];
    if (row === undefined) continue;
    const [what, body] = row;
    const answerTo = async (id: string) => {
      const answer = await ada.send(method, path.replace(':id', id), body);
      const { request_id: _, ...details } = (answer.data['details'] ?? {}) as Record<
        string,
        unknown
      >;
      return [answer.status, answer.error, answer.data['message'], details];
    };
    const never = theirs[what].replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const answered = await answerTo(theirs[what]);
    assert.is(answered[0], 404, `${method} ${path}`);
    assert.equal(
      answered,
      await answerTo(never),
      `${method} ${path} reveals that the object exists`,
    );
  }
});

foreign('is in no list, page or file of the console', async () => {
  await using desk = await openConsole();
  const theirs = await otherAccount(desk);
  const ada = await desk.owner();
  assert.match(
    (await named(desk)).join(),
    /the agent of bob/,
    'the other account sees its own agent',
  );
  const readable = routesOf(desk).filter(
    ({ method, path }) => method === 'GET' && !path.includes(':'),
  );
  assert.ok(readable.length >= 8, `${readable.length}`);
  for (const { path } of readable) {
    for (const query of ['', `?account_id=${OTHER_ACCOUNT_ID}`, `?account=${OTHER_ACCOUNT_ID}`]) {
      const { data } = await ada.send('GET', `${path}${query}`);
      const text = JSON.stringify(data);
      for (const mark of [...MARKS, ...Object.values(theirs)]) {
        assert.is(text.includes(mark), false, `${mark} at ${path}${query}`);
      }
    }
  }
});

foreign('stays unchanged after requests to every route with an id', async () => {
  await using desk = await openConsole();
  const theirs = await otherAccount(desk);
  const ada = await desk.owner();
  for (const [route, [what, body]] of Object.entries(WITH_IDS)) {
    const [method = '', path = ''] = route.split(' ');
    await ada.send(method, path.replace(':id', theirs[what]), body);
  }
  const bob: Browser = desk.browser();
  await bob.signIn('bob@example.com', 'a fine and private place', OTHER_ACCOUNT_ID);
  const { data: people } = await bob.expect(200, 'GET', '/members');
  assert.equal(
    [people['members'], people['invitations']].map((list) => (list as unknown[]).length),
    [2, 1],
  );
  const { data: keys } = await bob.expect(200, 'GET', '/keys');
  const [key] = keys as unknown as Record<string, unknown>[];
  assert.equal([key?.['name'], key?.['status']], ['the key of bob', 'active']);
});

foreign.run();
