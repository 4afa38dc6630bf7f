import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addressText, contains, networkText, readAddress, readNetwork } from '#stdlib/network';

/** Whether a network contains an address. */
function has(network: string, text: string): boolean {
  const [cidr, address] = [readNetwork(network), readAddress(text)];
  if (cidr === undefined || address === undefined) throw new Error(`${network} ${text}`);
  return contains(cidr, address);
}

const networks = suite('a network in CIDR notation');

networks('has a single canonical form', () => {
  const written = [
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['::ffff:192.0.2.7', '192.0.2.7/32'],
    ['2001:DB8:0:0:0:0:0:1/33', '2001:db8::/33'],
    ['2001:db8:0:1::9', '2001:db8:0:1::9/128'],
    ['8000::/1', '8000::/1'],
  ];
  for (const [given = '', text] of written) {
    const network = readNetwork(given);
    assert.is(network && networkText(network), text, given);
  }
});

networks('is rejected in any other notation, and if it covers all addresses', () => {
  const wrong = [
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '::/129',
    '0.0.0.0/0',
    '::/0',
    'a/8',
    '10.0.0.1/8/8',
  ];
  for (const text of [...wrong, '10.0.0.0/', ' 10.0.0.0/8', '10.0.0.0:80', '[::1]/64']) {
    assert.is(readNetwork(text), undefined, text);
  }
});

networks('contains the addresses with its prefix', () => {
  assert.ok(has('10.0.0.0/8', '10.255.0.1'));
  assert.not.ok(has('10.0.0.0/8', '11.0.0.0'));
  assert.ok(has('192.0.2.128/25', '192.0.2.255'));
  assert.not.ok(has('192.0.2.128/25', '192.0.2.127'));
  assert.ok(has('192.0.2.7', '192.0.2.7'));
  assert.not.ok(has('192.0.2.7', '192.0.2.6'));
  assert.ok(has('2001:db8::/33', '2001:db8:7fff::1'));
  assert.not.ok(has('2001:db8::/33', '2001:db8:8000::1'));
});

networks('contains an IPv4 address in IPv6 notation, or with a port', () => {
  assert.ok(has('10.0.0.0/8', '::ffff:10.1.2.3'));
  assert.ok(has('10.0.0.0/8', '::FFFF:a01:203'));
  assert.ok(has('::ffff:10.0.0.0/104', '10.1.2.3'));
  assert.ok(has('10.0.0.0/8', '10.1.2.3:50000'));
  assert.ok(has('2001:db8::/32', '[2001:db8::1]:443'));
  assert.not.ok(has('10.0.0.0/8', '::10.1.2.3'), 'a different address');
});

networks('contains no IPv4 address if it is an IPv6 network', () => {
  for (const wide of ['::/1', '::/64', '::ffff:0:0/96']) assert.not.ok(has(wide, '10.1.2.3'), wide);
  assert.ok(has('::/1', '2001:db8::1'));
});

const addresses = suite('an IP address');

addresses('has one normal form, without port, zone or IPv6 prefix', () => {
  for (const [given = '', text] of [
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:0DB8::0001', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[::1]:80', '::1'],
  ]) {
    const address = readAddress(given);
    assert.is(address && addressText(address), text, given);
  }
  assert.is(readAddress('unknown'), undefined);
});

networks.run();
addresses.run();
