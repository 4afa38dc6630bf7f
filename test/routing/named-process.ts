import { text } from 'node:stream/consumers';
import { adminService } from '#grpc/admin';
import { serveGrpc } from '#grpc/grpc-server';
import type { WireTls } from '#grpc/tls';
import { unchanging } from '#stdlib/files';

/*
 * A process that names its incarnation, and prints its address.
 *
 * Usage: named-process.ts INCARNATION <certificates. The certificates are PEM texts as JSON; without
 * input, the process speaks plain text.
 */

const [, , incarnation = ''] = process.argv;
const pem = await text(process.stdin);
const tls: WireTls | undefined = pem === '' ? undefined : tlsOf(JSON.parse(pem));
const drain = async () => ({ incarnation, openShards: 0 });
const { address } = await serveGrpc({
  listen: '127.0.0.1:0',
  services: [adminService({ identity: () => incarnation, drain })],
  tls: tls && unchanging(tls),
});
console.log(address);

function tlsOf(files: Record<keyof WireTls, string>): WireTls {
  const { authority, certificate, key } = files;
  return {
    authority: Buffer.from(authority),
    certificate: Buffer.from(certificate),
    key: Buffer.from(key),
  };
}
