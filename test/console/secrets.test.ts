import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryMemberStore, memorySessionStore, memoryUserStore } from '#storage/memory/people';
import { openConsole, PASSWORD, tokenIn } from '#test/console/console-fixture';
import { codeOf } from '#test/console/totp-code';
import { ManualClock } from '#test/support/manual-clock';

/** Wraps a port and records all arguments and results. */
function noted<Port extends object>(port: Port, notes: string[]): Port {
  return new Proxy(port, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        notes.push(JSON.stringify(given));
        const result = await method.apply(target, given);
        notes.push(JSON.stringify(result) ?? '');
        return result;
      };
    },
  });
}

const secrets = suite('a secret');

secrets('is in no log, no audit line, no metric and no store', async () => {
  const notes: string[] = [];
  const stores = {
    users: noted(memoryUserStore(), notes),
    members: noted(memoryMemberStore(), notes),
    sessions: noted(memorySessionStore(new ManualClock()), notes),
  };
  await using desk = await openConsole({}, stores);
  const token = await desk.setUpToken();
  const owner = desk.browser();
  const found = new Map([
    ['a password', PASSWORD],
    ['a set-up link', token],
  ]);
  const body = { token, email: 'ada@example.com', password: PASSWORD, name: 'Ada' };
  await owner.expect(201, 'POST', '/setup', body);
  found.set('a session', owner.cookies.get('session') ?? '');
  found.set('a device', owner.cookies.get('device') ?? '');
  const invite = { email: 'bob@example.com', role: 'viewer' };
  const { data: invited } = await owner.expect(201, 'POST', '/members/invitations', invite);
  found.set('an invitation', tokenIn(invited['link']));
  const { data } = await owner.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  const secret = String(data['secret']);
  found.set('a shared secret', secret);
  const code = codeOf(secret, desk.clock.wallMs());
  const confirmed = await owner.expect(200, 'POST', '/second-factor/confirm', { code });
  const codes = confirmed.data['recovery_codes'] as string[];
  for (const each of codes) found.set(`a recovery code`, each);
  found.set('a session with a second factor', owner.cookies.get('session') ?? '');
  await owner.send('POST', '/sign-in', {
    email: 'ada@example.com',
    password: 'a wrong one by far',
  });
  found.set('a wrong password', 'a wrong one by far');
  await owner.send('POST', '/sign-in', `{"password":"${PASSWORD}"`);
  desk.failAudit(true);
  await owner.send('PUT', '/password', { password: PASSWORD, new_password: 'the next one of all' });
  found.set('a new password', 'the next one of all');
  await desk.ports.users.findByEmail('ada@example.com');
  const { text } = await desk.ports.metrics.scrape();
  const written = {
    ...{ log: desk.log(), audit: JSON.stringify(desk.audited), stores: notes.join('\n') },
    metrics: text,
  };
  assert.ok(written.log.length > 100 && written.stores.length > 1_000 && desk.audited.length > 4);
  for (const [what, value] of found) {
    assert.ok(value.length > 12, what);
    for (const [where, all] of Object.entries(written)) {
      for (const form of [value, value.split('.').at(-1) ?? '', value.replaceAll('-', '')]) {
        assert.is(all.includes(form), false, `${what} is in ${where}`);
      }
    }
  }
});

secrets.run();
