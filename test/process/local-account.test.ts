import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { start } from '#test/support/service';

const local = suite('a service that runs locally');

local('prints a key of an enterprise account with ample limits', async () => {
  const { child, lines } = await start('standalone', { SERVICE_LOCAL_ACCOUNT: 'true' }, /Ctrl-C/);
  const text = lines.join('\n');
  const key = /svc_sk_[0-9A-Za-z]{50}/.exec(text)?.[0];
  const api = /(http:\S+\/v1)/.exec(text)?.[1];
  assert.ok(key && api, text);
  const answer = await fetch(`${api}/personas`, { headers: { authorization: `Bearer ${key}` } });
  await answer.text();
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  assert.equal(await ended, [0, null]);
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('x-ratelimit-limit'), '1000000');
  assert.is(answer.headers.get('x-monthly-remaining'), '1000000000');
});

local.run();
