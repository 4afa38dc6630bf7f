import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Dialed, Lifelines } from '#cluster/lifelines';
import { adminService } from '#grpc/admin';
import { engineProtocol } from '#grpc/engine-codec';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import type { WireTls } from '#grpc/tls';
import { dial } from '#routing/lifeline';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import * as peers from '#test/grpc/wire-peers';
import { pemOf } from '#test/support/servers/server-certificates';

const NAMED_PROCESS = fileURLToPath(import.meta.resolve('#test/routing/named-process'));

const LISTEN = '127.0.0.1:0';

/** Options of a connection that is answered. */
const PATIENT = { timeoutMs: 2_000 };
/** Options of a connection that gets no answer. */
const HASTY = { timeoutMs: 100 };

/** The service that names the incarnation of a process. */
function nodeOf(incarnation: string) {
  const drain = async () => ({ incarnation, openShards: 0 });
  return adminService({ identity: () => incarnation, drain });
}

/** Incarnation and lifeline; throws for every other result. */
function identified(dialed: Dialed) {
  if (dialed.kind !== 'identified') throw new Error(`the connection is ${dialed.kind}`);
  return dialed;
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  if (!server.listening) await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A proxy in front of an address. `ends` are the client's connections. */
async function proxyTo(address: string) {
  const ends = new Set<Socket>();
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  const server = createServer((socket) => {
    ends.add(socket);
    const there = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.on('error', () => undefined).on('close', () => there.destroy());
    socket.pipe(there).pipe(socket);
  });
  return { server, ends, address: await listening(server) };
}

const end = suite('a lifeline');

/** TLS files of an engine, as text. */
const PEM = {
  authority: pemOf('engine', 'ca.crt'),
  certificate: pemOf('engine', 'tls.crt'),
  key: pemOf('engine', 'tls.key'),
};

const TLS = unchanging<WireTls>({
  authority: Buffer.from(PEM.authority),
  certificate: Buffer.from(PEM.certificate),
  key: Buffer.from(PEM.key),
});

// Catches a kill that looks like a reset, and a live process that looks dead.
for (const tls of [undefined, TLS]) {
  const how = tls === undefined ? '' : ', also with TLS';
  end(
    `is direct, and gets a FIN when its process is killed, which proves the end${how}`,
    async () => {
      const child = spawn(process.execPath, [NAMED_PROCESS, 'inc_7']);
      using _ = { [Symbol.dispose]: () => void child.kill('SIGKILL') };
      child.stdin.end(tls && JSON.stringify(PEM));
      const [line] = await once(child.stdout, 'data');
      const address = String(line).trim();
      const { incarnation, lifeline } = identified(await dial(address, { ...PATIENT, tls }));
      assert.equal([incarnation, lifeline.isDirect], ['inc_7', true]);
      using lifelines = new Lifelines((to) => dial(to, { ...PATIENT, tls }), systemClock);
      lifelines.keep(new Set(['inc_7']));
      let probed = '';
      const probe = () =>
        lifelines.probe('inc_7', address, true).then(({ kind }) => {
          probed = kind;
        });
      await probe();
      assert.is(probed, 'listening');
      child.kill('SIGKILL');
      assert.is(await lifeline.ended, 'closed');
      await peers.eventually('the end is proven', () => {
        void probe();
        return probed === 'ended';
      });
    },
  );
}

end('is not direct through a proxy, and broken by a reset', async () => {
  await using node = await serveGrpc({ listen: LISTEN, services: [nodeOf('inc_7')] });
  const proxy = await proxyTo(node.address);
  const { lifeline } = identified(await dial(proxy.address, PATIENT));
  assert.is(lifeline.isDirect, false);
  for (const socket of proxy.ends) socket.resetAndDestroy();
  assert.is(await lifeline.ended, 'broken');
  proxy.server.close();
});

// Catches a stopping process that looks dead before it has sealed its journal.
end('is broken, not closed, when its live process closes it', async () => {
  const node = await serveGrpc({ listen: LISTEN, services: [nodeOf('inc_7')] });
  const { lifeline } = identified(await dial(node.address, PATIENT));
  await node[Symbol.asyncDispose]();
  assert.is(await lifeline.ended, 'broken');
});

// A server that listens on all addresses shows IPv4 callers as IPv6.
end('is direct to a server that listens on IPv6 too', async () => {
  await using node = await serveGrpc({ listen: '[::]:0', services: [nodeOf('inc_7')] });
  const port = node.address.slice(node.address.lastIndexOf(':'));
  const { lifeline } = identified(await dial(`127.0.0.1${port}`, PATIENT));
  assert.is(lifeline.isDirect, true);
  lifeline[Symbol.dispose]();
});

const none = suite('a connection without a lifeline');

none('is refused if no process listens', async () => {
  const server = createServer();
  const address = await listening(server);
  server.close();
  await once(server, 'close');
  assert.equal(await dial(address, PATIENT), { kind: 'refused' });
});

none('is silent if the process sends nothing, and broken with another protocol', async () => {
  const held = new Set<Socket>();
  const mute = createServer();
  const stranger = createServer((socket) => socket.end('220 mail\r\n'));
  for (const [server, options, kind] of [
    [mute, HASTY, 'silent'],
    [stranger, PATIENT, 'broken'],
  ] as const) {
    server.on('connection', (socket) => held.add(socket.on('error', () => undefined)));
    assert.equal(await dial(await listening(server), options), { kind });
    server.close();
  }
  for (const socket of held) socket.destroy();
});

none('is broken if the server names no incarnation', async () => {
  const services = [frameService(engineProtocol, { ask: () => peers.engineAnswer('') })];
  await using server = await serveGrpc({ listen: LISTEN, services });
  assert.equal(await dial(server.address, PATIENT), { kind: 'broken' });
});

none('is silent if the address is invalid or unreachable', async () => {
  for (const address of ['', 'nowhere', '127.0.0.1:0', '127.0.0.1:99999', 'no.such.invalid:80']) {
    assert.equal(await dial(address, { timeoutMs: 1_000 }), { kind: 'silent' }, address);
  }
});

for (const group of [end, none]) group.run();
