import { spreadOf, spreadText } from '#bench/statistics';
import type { CpuCost } from '#bench/wrk';

/** A table in Markdown. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** What stands above the tables of a report. */
type Heading = {
  readonly title: string;
  /** What was compared, and how. */
  readonly about: string;
  /** What writes the report again. */
  readonly command: string;
  readonly circumstances: readonly { readonly name: string; readonly value: string }[];
};

/** A report in Markdown: its heading, the circumstances of the run, and its tables. */
export function reportPage(
  { title, about, command, circumstances }: Heading,
  tables: readonly string[],
): string {
  const replaced = `Written by the measurement itself; every run replaces it. ${about}`;
  const rows = circumstances.map(({ name, value }) => [name, value]);
  return [`# ${title}`, replaced, `    ${command}`, tableOf(['', ''], rows), ...tables].join(
    '\n\n',
  );
}

/** Whether a target is met, as the tables say it. */
export function verdict(isMet: boolean): string {
  return isMet ? 'met' : '**not met**';
}

/** The median CPU time of every process of a server, and of who loads it beside it. */
export function cpuOf(results: readonly { readonly cpu: readonly CpuCost[] }[]): string {
  const names = results[0]?.cpu.map(({ process }) => process) ?? [];
  const costs = names.map((name, i) => {
    const micros = results.map((result) => result.cpu[i]?.microsPerRequest ?? Number.NaN);
    return `${name} ${spreadText(spreadOf(micros), 1)}`;
  });
  return costs.join('<br>');
}
