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

/** A row of the section. `metric` is undefined in the row for all metrics without their own row. */
type LabelRow = { readonly metric: string | undefined; readonly text: string };

/** Rows of the section, by label. */
export function documentedRows(): ReadonlyMap<string, readonly LabelRow[]> {
  const document = readFileSync('docs/metrics.md', 'utf8');
  const [, section = ''] = document.split('## Label values');
  const rows = [...section.matchAll(/^\| `(\w+)`(?: of `(\w+)`)? \| (.*) \|$/gm)];
  const named = rows.map(([, label = '', metric, text = '']) => ({ label, metric, text }));
  return Map.groupBy(named, ({ label }) => label);
}

/** Listed values of a metric's label; undefined without a row. */
export function documentedValues(metric: string, label: string): string[] | undefined {
  const rows = documentedRows().get(label);
  const row =
    rows?.find((one) => one.metric === metric) ?? rows?.find((one) => one.metric === undefined);
  const text = row?.text.replace(/\([^)]*\)/g, '');
  return text
    ?.matchAll(/`([\w:]+)`/g)
    .map(([, value = '']) => value)
    .toArray();
}

/** Whether the section permits a value of a metric's label. */
export function isDocumented(metric: string, label: string, value: string): boolean {
  const values = documentedValues(metric, label);
  if (values === undefined) return false;
  return values.includes(value) || (RULES[label]?.(value, metric) ?? false);
}
