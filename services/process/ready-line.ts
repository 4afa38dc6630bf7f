/** Prints that a process is ready, and where it can be reached. */
export function say(service: string, addresses: Record<string, string>): void {
  const list = Object.entries(addresses).map(([name, address]) => `${name} ${address}`);
  process.stdout.write(`${service} is ready: ${list.join(', ')}\n`);
}
