import { DASHBOARDS } from '#deploy/observe/dashboards/all';
import { grafanaJson } from '#deploy/observe/grafana-json';
import {
  PROMETHEUS_RULE_FILE,
  prometheusRuleText,
  RULE_TESTS_FILES,
  RULES_FILE,
  rulesText,
  ruleTestsText,
} from '#deploy/observe/rule-files';

/** Text of all generated rule and dashboard files, by path. */
export function observeFiles(): ReadonlyMap<string, string> {
  return new Map([
    [RULES_FILE, rulesText()],
    [PROMETHEUS_RULE_FILE, prometheusRuleText()],
    [RULE_TESTS_FILES.minutes, ruleTestsText('minutes')],
    [RULE_TESTS_FILES.days, ruleTestsText('days')],
    ...DASHBOARDS.map((dashboard): [string, string] => [
      `deploy/observe/grafana/${dashboard.id}.json`,
      grafanaJson(dashboard),
    ]),
  ]);
}
