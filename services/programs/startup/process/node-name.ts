import { hostname } from 'node:os';
import type { Config } from '#config';
import { releaseOf } from '#stdlib/release';
import type { LogOrigin } from '#telemetry/logger';

/** Name of this process in log lines and traces: `SERVICE_NODE_NAME`, or host and process id. */
export function nodeNameOf({ SERVICE_NODE_NAME: name }: Config): string {
  return name ?? `${hostname()}:${process.pid}`;
}

/** Fields of every log line of this process. */
export function logOrigin(config: Config, role: string): LogOrigin {
  return { role, node: nodeNameOf(config), release: releaseOf() };
}
