import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { dialTargetOf } from '#grpc/channel';
import { isHostPort, readHostPort } from '#stdlib/network';

const address = suite('an address for connections');

for (const [text, host, port] of [
  ['127.0.0.1:8100', '127.0.0.1', 8_100],
  ['engine1:80', 'engine1', 80],
  ['engine-0.engines.default.svc.cluster.local:65535', undefined, 65_535],
  ['[::1]:8100', '::1', 8_100],
  ['[fe80::1]:0', 'fe80::1', 0],
] as const) {
  address(`may be ${text}`, () => {
    const read = readHostPort(text);
    assert.is(read?.port, port);
    if (host !== undefined) assert.is(read?.host, host);
  });
}

for (const text of [
  ...[
    '',
    ':',
    ':80',
    'host',
    'host:',
    'host:x',
    'host:80:81',
    'host:65536',
    'host:-1',
    'host:080000',
  ],
  ...['unix:/run/x.sock', 'unix:///run/x.sock', 'unix:x', 'dns:///host:80', 'dns:host:80'],
  ...['http://host:80', 'user@host:80', 'host:80/path', 'host :80', ' host:80', 'host:80\n'],
  ...['::1:80', '[::1]', '[x]:80', '-host:80', 'host-:80', `${'h'.repeat(254)}:80`, 'hôte:80'],
]) {
  address(`is not ${JSON.stringify(text.slice(0, 40))}`, () => assert.not(isHostPort(text)));
}

address('consists of host and port only', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), (text) => {
      if (isHostPort(text)) assert.match(text, /^[\w.:[\]-]+:\d{1,5}$/);
    }),
  );
});

const dialled = suite('an address for gRPC');

dialled('has an explicit scheme, so that a host called unix is not a path', () => {
  assert.is(dialTargetOf('unix:8100'), 'dns:unix:8100');
});

dialled('is rejected unless it is host:port', () => {
  assert.throws(() => dialTargetOf('unix:/run/x.sock'), /host:port/);
});

for (const each of [address, dialled]) each.run();
