import type { CpuCost } from '#bench/load/wrk';
import { spreadOf, spreadText } from '#bench/measures/statistics';

/** A table in Markdown. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** A figure and its target. */
export type TargetRow = {
  readonly what: string;
  readonly target: string;
  readonly reached: string;
  /** True without a target. */
  readonly isMet: boolean;
};

/** A table of figures that marks each missed target. */
export function targetTable(rows: readonly TargetRow[]): string {
  const cells = rows.map(({ what, target, reached, isMet }) => [
    what,
    target,
    isMet ? reached : `${reached}, ${verdict(isMet)}`,
  ]);
  return tableOf(['', 'target', 'reached'], cells);
}

/** A table with the command and circumstances of a run. */
export function runFacts(
  command: string,
  circumstances: readonly { readonly name: string; readonly value: string }[],
): string {
  const facts = circumstances.map(({ name, value }) => [name, value]);
  return tableOf(['', ''], [['Command', `\`${command}\``], ...facts]);
}

/** Table text for a met or missed target. */
export function verdict(isMet: boolean): string {
  return isMet ? 'met' : '**not met**';
}

/** Median CPU time per request of a server's processes and of the load generator. */
export function cpuOf(results: readonly { readonly cpu: readonly CpuCost[] }[]): string {
  const names = results[0]?.cpu.map(({ process }) => process) ?? [];
  const costs = names.map((name, i) => {
    const micros = results.map((result) => result.cpu[i]?.microsPerRequest ?? Number.NaN);
    return `${name} ${spreadText(spreadOf(micros), 1)}`;
  });
  return costs.join('<br>');
}
