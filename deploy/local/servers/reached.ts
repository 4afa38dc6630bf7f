import { connect, type NetConnectOpts } from 'node:net';

/** Resolves if a process accepts connections at the address, else rejects. */
export function reached(address: NetConnectOpts): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(address);
    socket.once('error', reject).once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}
