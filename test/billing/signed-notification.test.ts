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

/** A signature header, made by the library of Stripe. */
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
  assert.unreachable(`${what} is accepted`);
}

/** Signature that a header contains. */
const v1Of = (header: string) => header.split('v1=')[1] ?? '';

const good = suite('a signed notification');

good('from Stripe is parsed exactly', () => {
  assert.equal(verified(signed()), EVENT);
});

good('from this service has the same signature as from Stripe, byte for byte', () => {
  assert.is(signatureOf(BODY, SECRET, NOW_MS + 999), signed());
  const hmac = createHmac('sha256', SECRET).update(`${NOW_S}.${BODY}`).digest('hex');
  assert.is(signed(), `t=${NOW_S},v1=${hmac}`);
});

good('is accepted with any of several secrets, for secret rotation', () => {
  const secrets = ['whsec_new', SECRET, 'whsec_other'];
  assert.equal(verified(signed(), BODY, secrets), EVENT);
  const both = `${signed({ secret: 'whsec_gone' })},v1=${v1Of(signed())}`;
  assert.equal(verified(both), EVENT, 'a header with two signatures is accepted too');
});

good('is accepted if its time differs by at most five minutes', () => {
  for (const timestamp of [NOW_S - 300, NOW_S, NOW_S + 300]) {
    assert.equal(verified(signed({ timestamp })), EVENT);
  }
});

const attack = suite('a notification is refused');

attack('without a signature, or with a malformed signature', () => {
  refused('no header', undefined);
  const { length } = v1Of(signed());
  for (const header of ['', 'v1', 't', ',', '=', `t=${NOW_S}`, `t=${NOW_S},v1=`, 'nonsense']) {
    refused(JSON.stringify(header), header);
  }
  refused('no time', `v1=${v1Of(signed())}`);
  refused('zeros', `t=${NOW_S},v1=${'0'.repeat(length)}`);
  refused('half the signature', signed().slice(0, -length / 2));
  refused('in upper case', `t=${NOW_S},v1=${v1Of(signed()).toUpperCase()}`);
});

attack('if its only signature has scheme `v0` or no scheme', () => {
  refused('v0', signed().replace('v1=', 'v0='));
  refused('no scheme', signed().replace('v1=', '='));
});

attack('with a signature by another secret, or by an empty secret', () => {
  refused('another', signed({ secret: `${SECRET}x` }));
  const empty = createHmac('sha256', '').update(`${NOW_S}.${BODY}`).digest('hex');
  refused('an empty secret', `t=${NOW_S},v1=${empty}`);
  assert.throws(() => verified(signed(), BODY, []));
  assert.throws(() => verified(`t=${NOW_S},v1=${empty}`, BODY, ['']));
});

attack('if its time differs by more than five minutes', () => {
  refused('old', signed({ timestamp: NOW_S - 301 }));
  refused('future', signed({ timestamp: NOW_S + 301 }));
  refused('far future', signed({ timestamp: NOW_S * 1_000 }));
});

attack('if its time is not the signed time', () => {
  const old = signed({ timestamp: NOW_S - 400 });
  refused('a newer time', `t=${NOW_S},v1=${v1Of(old)}`);
  refused('two times', `t=${NOW_S},${old}`);
  refused('two times, the valid time last', `${old},t=${NOW_S}`);
  for (const text of ['', '-1', '1e9', ' 1', '0x10', 'NaN', `${NOW_S}.5`, `${NOW_S}abc`]) {
    refused(`t=${text}`, `t=${text},v1=${v1Of(signed())}`);
  }
});

attack('if its body was changed or serialised again', () => {
  refused('without its spaces', signed(), JSON.stringify(EVENT));
  refused('with an extra space', signed(), `${BODY} `);
  refused('without the last byte', signed(), BODY.slice(0, -1));
  refused('another event', signed(), BODY.replace('evt_1', 'evt_2'));
  refused('empty', signed({ payload: '' }), '');
});

attack('if its JSON is invalid despite a valid signature', () => {
  refused('text', signed({ payload: 'text' }), 'text');
});

attack('if its body or header is too large, even with a valid signature', () => {
  const payload = JSON.stringify({ ...EVENT, text: 'x'.repeat(262_144) });
  refused('a huge body', signed({ payload }), payload);
  refused('a huge header', `${signed()},${`v1=${v1Of(signed())},`.repeat(100)}`);
});

for (const each of [good, attack]) each.run();
