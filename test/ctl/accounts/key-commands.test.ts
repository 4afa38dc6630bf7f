import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiKeyRecord } from '#accounts/account';
import { serviceUnderTest } from '#test/ctl/ctl-on-service';
import { admitKey } from '#test/limiter/limiter-fixture';
import { addKey } from '#test/storage/contracts/stored-keys';

const keys = suite('ctl keys');

keys('creates keys with names and networks, and changes and rotates keys', async () => {
  await using service = await serviceUnderTest();
  const { id, limiter } = service;
  const create = ['keys', 'create', id, '--name', 'CI ✓', '--networks', '10.1.2.3/8,192.0.2.7'];
  const made = JSON.parse((await service.ctl(...create, '--json')).out);
  assert.equal([made.name, made.networks], ['CI ✓', ['10.0.0.0/8', '192.0.2.7/32']]);
  assert.is(made.masked, `svc_sk_…${made.key.slice(47, 51)}`);
  assert.is((await admitKey(limiter, made.key, '11.0.0.1')).verdict, 'address_not_allowed');
  assert.is((await admitKey(limiter, made.key, '10.0.0.1')).verdict, 'admitted');
  assert.match((await service.ctl('keys', 'rename', id, made.id, 'Zoë')).out, / {2}Zoë {2}/);
  assert.match((await service.ctl('keys', 'disable', id, made.id)).out, / {2}disabled {2}/);
  assert.is((await admitKey(limiter, made.key, '10.0.0.1')).verdict, 'unknown_key');
  assert.match((await service.ctl('keys', 'rotate', id, made.id)).err, /enable it first/);
  assert.match((await service.ctl('keys', 'enable', id, made.id)).out, / {2}active {2}/);
  const rotated = JSON.parse(
    (await service.ctl('keys', 'rotate', id, made.id, '--grace', '1h', '--json')).out,
  );
  assert.equal([rotated.name, rotated.networks], ['Zoë', made.networks]);
  assert.is(rotated.replaced.replaced_by, rotated.id);
  for (const { key } of [made, rotated]) {
    assert.is((await admitKey(limiter, key, '10.0.0.1')).verdict, 'admitted');
  }
  service.clock.advance(3_600_000);
  assert.is((await admitKey(limiter, made.key, '10.0.0.1')).verdict, 'unknown_key');
  assert.is((await admitKey(limiter, rotated.key, '10.0.0.1')).verdict, 'admitted');
  assert.match((await service.ctl('keys', 'rotate', id, rotated.id, '--grace', '2h')).err, /2h/);
  const listed = (await service.ctl('keys', 'list', id)).out;
  assert.match(listed, /NETWORKS +REPLACED BY +MADE BY +HINTS/);
  for (const { key } of [made, rotated]) assert.not.ok(listed.includes(key.slice(19, 47)));
});

keys('shows keys with an unknown scope, and escapes control characters', async () => {
  await using service = await serviceUnderTest();
  const record = { ...service.record, id: 'key_2', digest: 'd', name: 'a\u001b[2Jb' };
  const later = { ...record, scope: 'events' } as unknown as ApiKeyRecord;
  await addKey(service.accounts, service.id, later);
  const { code, out } = await service.ctl('keys', 'list', service.id);
  assert.is(code, 0);
  assert.match(out, /^key_2 +a\\u001b\[2Jb +.* {2}events +active/m);
});

keys.run();
