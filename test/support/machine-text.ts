import { cpus, totalmem } from 'node:os';

/** Processors and memory of this machine, for reports: `2 × AMD EPYC, 24 GiB`. */
export function machineText(): string {
  const [cpu] = cpus();
  return `${cpus().length} × ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
}
