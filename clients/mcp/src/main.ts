#!/usr/bin/env node
import { ConfigurationError, readConfiguration, USAGE, VERSION } from './configuration.ts';
import { ContractWatches } from './contract-watch.ts';
import { report } from './failures.ts';
import { serveOnHttp } from './serve-http.ts';
import { serveOnStdio } from './serve-stdio.ts';
import { Session } from './session.ts';

/*
 * Program `identity-engine-mcp`. Exit status: 0 after the end of standard input or a signal, 1 after
 * an error, 2 for an invalid configuration.
 */

// Only JSON-RPC messages may go to standard output, also if a dependency logs.
console.log = console.info = console.debug = console.error;

process.on('uncaughtException', (error) => {
  report(error);
  process.exit(1);
});

await main(process.argv.slice(2)).catch((error: unknown) => {
  report(error);
  process.exit(error instanceof ConfigurationError ? 2 : 1);
});

async function main(args: readonly string[]): Promise<void> {
  const [only] = args;
  if (only === '--help' || only === '--version') {
    process.stdout.write(`${only === '--help' ? USAGE : VERSION}\n`);
    return;
  }
  const configuration = readConfiguration(args, process.env);
  const watches = new ContractWatches();
  let close = async () => {};
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void close().finally(() => process.exit(0)));
  }
  if (configuration.http === undefined) {
    const { apiKey = '', instanceIds } = configuration;
    await serveOnStdio(new Session(apiKey, instanceIds), watches);
    process.exit(0);
  }
  const server = await serveOnHttp(configuration, configuration.http, watches);
  close = server.close;
  process.stdout.write(`Model Context Protocol on ${server.url}\n`);
}
