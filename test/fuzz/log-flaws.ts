import type { Service } from '#test/support/service';

/** Level of a line that tells of a bug, or of the end of the process. */
const ERROR_LEVEL = 50;

/** What the service's log says that must not be there, and processes that have ended. */
export function logFlaws(service: Service): string[] {
  const ended = [...service.processes]
    .filter(([, child]) => child.exitCode !== null || child.signalCode !== null)
    .map(([name]) => `${name} has ended`);
  const lines = service
    .log()
    .split('\n')
    .filter((line) => line !== '');
  return [...ended, ...lines.filter(isError).slice(0, 5)];
}

function isError(line: string): boolean {
  try {
    return Number(JSON.parse(line).level) >= ERROR_LEVEL;
  } catch {
    return true;
  }
}
