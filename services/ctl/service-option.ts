import type { Values } from '#ctl/command';
import { CtlError } from '#ctl/ctl-error';
import type { ShardedService } from '#storage/shard-store';

/** The option of commands that look at every service unless told otherwise. */
export const SERVICE_OPTION = { service: 'engine|limiter' };

/** Every service whose actors are sharded. */
export const SERVICES: readonly ShardedService[] = ['engine', 'limiter'];

/** The services that `--service` asks for: all if it was left out, in the order of every listing. */
export function requestedServices({ service }: Values): readonly ShardedService[] {
  if (service === undefined) return SERVICES;
  const wanted = SERVICES.filter((one) => one === service);
  if (wanted.length > 0) return wanted;
  throw new CtlError(`--service takes engine or limiter, not ${service}`);
}
