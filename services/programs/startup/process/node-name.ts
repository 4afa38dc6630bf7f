import { hostname } from 'node:os';
import type { Config } from '#config';
import { releaseOf } from '#stdlib/release';
import type { LogOrigin } from '#telemetry/logger';

/** Process name in log lines and traces: `SERVICE_NODE_NAME`, or host and process id. */
export function nodeNameOf({ SERVICE_NODE_NAME: name }: Config): string {
  return name ?? `${hostname()}:${process.pid}`;
}

/** Fields that all log lines of this process share. */
export function logOrigin(config: Config, role: string): LogOrigin {
  return { role, node: nodeNameOf(config), release: releaseOf() };
}
