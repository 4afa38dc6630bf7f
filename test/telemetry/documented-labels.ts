import { readFileSync } from 'node:fs';
import { ENDPOINTS } from '#edge/endpoints/all';
import { FAULTS } from '#errors/error-codes';
import { REASONS } from '#errors/error-reasons';

/*
 * Section "Label values" of docs/metrics.md, for comparison with the code and with running
 * processes.
 */

/** Label values that the document describes by a rule instead of a list. */
const RULES: Readonly<Record<string, (value: string, metric: string) => boolean>> = {
  http_route: (value) => ENDPOINTS.some(({ path }) => path === value),
  http_response_status_code: (value) => /^(20[014]|4\d\d|50[035])$/.test(value),
  outcome: (value) => Object.hasOwn(FAULTS, value),
  rpc_method: (value) => /^\/identity_engine\.v1\.\w+\/\w+$/.test(value),
  reason: (value, metric) =>
    /^edge_(fail_closed|retries)_total$/.test(metric) && Object.hasOwn(REASONS, value),
  version: (value) => /^\d+\.\d+\.\d+$/.test(value),
  db_operation_name: (value) => /^[a-z]+(_[a-z]+)*$/.test(value),
};

/** Matches the metric to which a part of a row is limited. */
const OF_METRIC = /\bfor `(\w+_\w+)`/;

/** Rows of the section, by label. */
export function documentedRows(): ReadonlyMap<string, string> {
  const document = readFileSync('docs/metrics.md', 'utf8');
  const [, section = ''] = document.split('## Label values');
  const rows = [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)];
  return new Map(rows.map(([, label = '', text = '']) => [label, text]));
}

/** Listed values of a metric's label; undefined without a row. */
export function documentedValues(metric: string, label: string): string[] | undefined {
  const row = documentedRows()
    .get(label)
    ?.replace(/\([^)]*\)/g, '');
  if (row === undefined) return undefined;
  const parts = row.split(';').map((text) => ({ text, of: OF_METRIC.exec(text)?.[1] }));
  const own = parts.filter(({ of }) => of === metric);
  const wanted = own.length > 0 ? own : parts.filter(({ of }) => of === undefined);
  return wanted.flatMap(({ text }) =>
    [...text.replace(OF_METRIC, '').matchAll(/`([\w:]+)`/g)].map(([, value = '']) => value),
  );
}

/** Whether the section permits a value of a metric's label. */
export function isDocumented(metric: string, label: string, value: string): boolean {
  const values = documentedValues(metric, label);
  if (values === undefined) return false;
  return values.includes(value) || (RULES[label]?.(value, metric) ?? false);
}
