import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isPublicAddress } from '#webhooks/public-address';

const REFUSED = `0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254
  172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1
  224.0.0.1 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 0:0:0:0:0:ffff:7f00:1
  ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::7f00:1 100::1 2001::1 2001:db8::1 2002:7f00:1::
  fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 4000::1
  localhost example.com 127.1 0x7f000001 2130706433 1.2.3 1.2.3.4.5`
  .trim()
  .split(/\s+/);

const PUBLIC = ['1.1.1.1', '8.8.8.8', '172.32.0.1', '193.0.0.1', '2606:4700::1111', '2a00:1450::1'];

const check = suite('a connection to an address');

for (const address of REFUSED) {
  check(`is refused for ${address}`, () => assert.not(isPublicAddress(address)));
}
for (const address of PUBLIC) {
  check(`is allowed for ${address}`, () => assert.ok(isPublicAddress(address)));
}

check('counts an IPv4 address in an IPv6 address as the IPv4 address', () => {
  assert.ok(isPublicAddress('::ffff:8.8.8.8'));
});

check.run();
