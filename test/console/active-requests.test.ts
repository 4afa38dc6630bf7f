import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ActiveRequests } from '#console/app/refusal';
import { faultIn } from '#test/support/settled';

const active = suite('the limit of concurrent console requests');

// Report 12: an export released its slot before its first byte was sent.
active('counts a request until its file is fully sent or aborted', async () => {
  const requests = new ActiveRequests();
  const files = Array.from({ length: 256 }, () => new PassThrough());
  for (const file of files)
    await requests.during(
      async () => file,
      (content) => content,
    );
  const refused = await faultIn(requests.during(async () => undefined));
  assert.is(refused.reason, 'overloaded');
  const [sent, lost] = files;
  sent?.end();
  sent?.resume();
  if (sent !== undefined) await finished(sent);
  await requests.during(async () => undefined);
  lost?.destroy();
  await requests.during(async () => undefined);
});

active.run();
