import { createHmac } from 'node:crypto';
import Stripe from 'stripe';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { signatureOf, verifiedNotification } from '#billing/signed-notification';
import { Fault } from '#errors/fault';

const NOW_MS = Date.UTC(2026, 0, 15, 12);
const NOW_S = NOW_MS / 1_000;
const SECRET = 'whsec_of_this_test';
const EVENT = { id: 'evt_1', object: 'event', type: 'ping', text: 'a "b" ä 😀' };
const BODY = JSON.stringify(EVENT, undefined, 1);

const bytes = (text: string) => new TextEncoder().encode(text);

/** A header as Stripe's own helper makes it. */
function signed(change: { payload?: string; secret?: string; timestamp?: number } = {}): string {
  const { payload = BODY, secret = SECRET, timestamp = NOW_S } = change;
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
}

function verified(header: string | undefined, body = BODY, secrets = [SECRET]): unknown {
  return verifiedNotification(bytes(body), header, secrets, NOW_MS);
}

function refused(what: string, header: string | undefined, body?: string): void {
  try {
    verified(header, body);
  } catch (error) {
    assert.instance(error, Fault, what);
    assert.is((error as Fault).code, 'webhook_verification_failed', what);
    assert.is((error as Fault).httpStatus, 400);
    return;
  }
  assert.unreachable(`${what} is taken`);
}

/** The signature in a header. */
const v1Of = (header: string) => header.split('v1=')[1] ?? '';

const good = suite('a notification that is signed');

good('by Stripe is read as it was written', () => {
  assert.equal(verified(signed()), EVENT);
});

good('by this service is signed as Stripe signs, byte for byte', () => {
  assert.is(signatureOf(BODY, SECRET, NOW_MS + 999), signed());
  const hmac = createHmac('sha256', SECRET).update(`${NOW_S}.${BODY}`).digest('hex');
  assert.is(signed(), `t=${NOW_S},v1=${hmac}`);
});

good('with any of the secrets is taken, while they are changed', () => {
  const secrets = ['whsec_new', SECRET, 'whsec_other'];
  assert.equal(verified(signed(), BODY, secrets), EVENT);
  const both = `${signed({ secret: 'whsec_gone' })},v1=${v1Of(signed())}`;
  assert.equal(verified(both), EVENT, 'and so is one that is signed with two');
});

good('within five minutes is taken, before as after', () => {
  for (const timestamp of [NOW_S - 300, NOW_S, NOW_S + 300]) {
    assert.equal(verified(signed({ timestamp })), EVENT);
  }
});

const attack = suite('a notification is refused');

attack('without a signature, or with what is none', () => {
  refused('no header', undefined);
  const { length } = v1Of(signed());
  for (const header of ['', 'v1', 't', ',', '=', `t=${NOW_S}`, `t=${NOW_S},v1=`, 'nonsense']) {
    refused(JSON.stringify(header), header);
  }
  refused('no time', `v1=${v1Of(signed())}`);
  refused('zeros', `t=${NOW_S},v1=${'0'.repeat(length)}`);
  refused('half of it', signed().slice(0, -length / 2));
  refused('in upper case', `t=${NOW_S},v1=${v1Of(signed()).toUpperCase()}`);
});

attack('when only an older scheme signs it', () => {
  refused('v0', signed().replace('v1=', 'v0='));
  refused('no scheme', signed().replace('v1=', '='));
});

attack('that another secret has signed, or an empty one', () => {
  refused('another', signed({ secret: `${SECRET}x` }));
  const empty = createHmac('sha256', '').update(`${NOW_S}.${BODY}`).digest('hex');
  refused('an empty one', `t=${NOW_S},v1=${empty}`);
  assert.throws(() => verified(signed(), BODY, []));
  assert.throws(() => verified(`t=${NOW_S},v1=${empty}`, BODY, ['']));
});

attack('that is older than five minutes, or from later than in five minutes', () => {
  refused('old', signed({ timestamp: NOW_S - 301 }));
  refused('to come', signed({ timestamp: NOW_S + 301 }));
  refused('far to come', signed({ timestamp: NOW_S * 1_000 }));
});

attack('with a time that is not the signed one', () => {
  const old = signed({ timestamp: NOW_S - 400 });
  refused('a newer time', `t=${NOW_S},v1=${v1Of(old)}`);
  refused('two times', `t=${NOW_S},${old}`);
  refused('two times, the good one last', `${old},t=${NOW_S}`);
  for (const text of ['', '-1', '1e9', ' 1', '0x10', 'NaN', `${NOW_S}.5`, `${NOW_S}abc`]) {
    refused(`t=${text}`, `t=${text},v1=${v1Of(signed())}`);
  }
});

attack('whose body was written again, or changed', () => {
  refused('without its spaces', signed(), JSON.stringify(EVENT));
  refused('with a space more', signed(), `${BODY} `);
  refused('with a byte less', signed(), BODY.slice(0, -1));
  refused('of another event', signed(), BODY.replace('evt_1', 'evt_2'));
  refused('empty', signed({ payload: '' }), '');
});

attack('that is signed and no JSON, without a word about why', () => {
  refused('text', signed({ payload: 'text' }), 'text');
});

attack('that is larger than any of the provider, however it is signed', () => {
  const payload = JSON.stringify({ ...EVENT, text: 'x'.repeat(262_144) });
  refused('a huge body', signed({ payload }), payload);
  refused('a huge header', `${signed()},${`v1=${v1Of(signed())},`.repeat(100)}`);
});

for (const each of [good, attack]) each.run();
